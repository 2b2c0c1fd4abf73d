"""Checking JSON against an exact shape: a missing, wrong or unknown field is an error with its path."""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson


class WrongField(Exception):
    """The request is not what the wire documents."""


Rule: TypeAlias = Callable[[Any, str], None]
PICTURES: Mapping[str, Callable[[bytes], bool]] = MappingProxyType(
    {
        "image/jpeg": lambda content: content[:3] == b"\xff\xd8\xff" and content[-2:] == b"\xff\xd9",
        "image/png": lambda content: content[:8] == b"\x89PNG\r\n\x1a\n" and content[-8:-4] == b"IEND",
        "image/gif": lambda content: content[:6] in {b"GIF87a", b"GIF89a"},
        "image/webp": lambda content: content[:4] == b"RIFF" and content[8:12] == b"WEBP",
    }
)
LARGEST_PICTURE = 5 * 1024 * 1024
"""Of a picture in base64: the lowest limit that a large provider documents."""
DATA_URL = re.compile(r"data:(image/(?:jpeg|png|gif|webp));base64,([A-Za-z0-9+/]+={0,2})")
FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def expect(holds: object, path: str, what: str) -> None:
    """Raise `WrongField` with path and reason unless it holds."""
    if not holds:
        raise WrongField(f"{path}: {what}")


def exactly(*values: object) -> Rule:
    """A value that is one of these."""
    return lambda value, path: expect(
        any(value is option or value == option for option in values), path, f"must be one of {values}"
    )


def text(value: Any, path: str) -> None:
    """A string, empty or not."""
    expect(isinstance(value, str), path, "must be a string")


def filled(value: Any, path: str) -> None:
    """A string that holds more than space."""
    expect(isinstance(value, str) and value.strip(), path, "must be a string that is not blank")


def flag(value: Any, path: str) -> None:
    """True or false, and nothing that only counts as such."""
    expect(isinstance(value, bool), path, "must be true or false")


def positive(value: Any, path: str) -> None:
    """A whole number above zero."""
    expect(
        isinstance(value, int) and not isinstance(value, bool) and value > 0,
        path,
        "must be a positive integer",
    )


def number(low: float, high: float) -> Rule:
    """A number within two bounds, both included."""
    return lambda value, path: expect(
        isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high,
        path,
        f"must be {low}…{high}",
    )


def name(value: Any, path: str) -> None:
    """A name that a function may have."""
    expect(isinstance(value, str) and FUNCTION_NAME.fullmatch(value), path, "must be a function name")


def json_object_text(value: Any, path: str) -> None:
    """A string that holds a JSON object, as the arguments of a call do.

    Read as the strictest of servers do, which refuse numbers that no double holds and halves of surrogate pairs.
    """
    try:
        parsed = orjson.loads(value) if isinstance(value, str) else None
    except ValueError:
        parsed = None
    expect(isinstance(parsed, dict), path, "must be the text of a JSON object")


def schema(value: Any, path: str) -> None:
    """The JSON schema of an object; of what is in it nothing is asked."""
    expect(
        isinstance(value, dict) and value.get("type") == "object", path, "must be a JSON schema of an object"
    )


def data_url(value: Any, path: str) -> None:
    """A picture as `data:` URL: of a kind that every provider takes, really of that kind, and not too large."""
    found = DATA_URL.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise WrongField(f"{path}: must be a data URL of a JPEG, PNG, GIF or WebP picture, in base64")
    kind, encoded = found.groups()
    expect(len(encoded) <= LARGEST_PICTURE, path, f"image exceeds {LARGEST_PICTURE} bytes")
    try:
        content = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise WrongField(f"{path}: is no base64") from None
    expect(PICTURES[kind](content), path, f"the image is no {kind}")


def words_of(content: Any) -> str:
    """The text of a message's content that was checked: all of it, or its parts that are text."""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if "text" in part)


def pictures_in(value: Any) -> Iterator[bytes]:
    """The pictures that a request holds anywhere, in order."""
    match value:
        case str():
            if found := DATA_URL.fullmatch(value):
                yield base64.b64decode(found[2])
        case list():
            for each in value:
                yield from pictures_in(each)
        case dict():
            yield from pictures_in([*value.values()])
        case _:
            pass


def items(rule: Rule, *, at_least: int = 0) -> Rule:
    """A list whose every member keeps a rule."""

    def check(value: Any, path: str) -> None:
        expect(
            isinstance(value, list) and len(value) >= at_least, path, f"must be a list of {at_least} or more"
        )
        for position, item in enumerate(value):
            rule(item, f"{path}[{position}]")

    return check


def fields(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with these fields and no others."""
    known = {**required, **(optional or {})}

    def check(value: Any, path: str) -> None:
        expect(isinstance(value, dict), path, "must be an object")
        for key in required:
            expect(key in value, f"{path}.{key}", "is missing")
        for key, item in value.items():
            expect(key in known, f"{path}.{key}", "is not a known field")
            known[key](item, f"{path}.{key}")

    return check


def by(key: str, shapes: Mapping[str, Rule]) -> Rule:
    """An object whose shape is named by one of its fields."""

    def check(value: Any, path: str) -> None:
        expect(
            isinstance(value, dict) and value.get(key) in shapes,
            f"{path}.{key}",
            f"must be one of {list(shapes)}",
        )
        shapes[value[key]](value, path)

    return check

"""Checking JSON against an exact shape: a missing, wrong or unknown field is an error with its path."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias


class WrongField(Exception):
    """The request is not what the wire documents."""


Rule: TypeAlias = Callable[[Any, str], None]
FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def expect(holds: object, path: str, what: str) -> None:
    if not holds:
        raise WrongField(f"{path}: {what}")


def exactly(*values: object) -> Rule:
    return lambda value, path: expect(
        any(value is option or value == option for option in values), path, f"must be one of {values}"
    )


def text(value: Any, path: str) -> None:
    expect(isinstance(value, str), path, "must be a string")


def filled(value: Any, path: str) -> None:
    expect(isinstance(value, str) and value.strip(), path, "must be a string that is not blank")


def flag(value: Any, path: str) -> None:
    expect(isinstance(value, bool), path, "must be true or false")


def positive(value: Any, path: str) -> None:
    expect(
        isinstance(value, int) and not isinstance(value, bool) and value > 0,
        path,
        "must be a positive integer",
    )


def number(low: float, high: float) -> Rule:
    return lambda value, path: expect(
        isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high,
        path,
        f"must be {low}…{high}",
    )


def name(value: Any, path: str) -> None:
    expect(isinstance(value, str) and FUNCTION_NAME.fullmatch(value), path, "must be a function name")


def json_object_text(value: Any, path: str) -> None:
    try:
        parsed = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        parsed = None
    expect(isinstance(parsed, dict), path, "must be the text of a JSON object")


def schema(value: Any, path: str) -> None:
    expect(
        isinstance(value, dict) and value.get("type") == "object", path, "must be a JSON schema of an object"
    )


def items(rule: Rule, *, at_least: int = 0) -> Rule:
    def check(value: Any, path: str) -> None:
        expect(
            isinstance(value, list) and len(value) >= at_least, path, f"must be a list of {at_least} or more"
        )
        for position, item in enumerate(value):
            rule(item, f"{path}[{position}]")

    return check


def fields(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
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
    def check(value: Any, path: str) -> None:
        expect(
            isinstance(value, dict) and value.get(key) in shapes,
            f"{path}.{key}",
            f"must be one of {list(shapes)}",
        )
        shapes[value[key]](value, path)

    return check

"""Names for files from elsewhere, safe to have in a folder and to show. Pure."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import PurePosixPath

MAX_BYTES = 200
"""Of a name: room for a number stays below what file systems allow (255)."""

_MAX_SUFFIX_BYTES = 20
_NAMELESS = "file"

_UNWANTED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, those that change the direction of text, and halves of surrogate pairs."""

_LEADING = " .-~"
"""A name that begins so would be hidden, or be taken for an option or somebody's home."""


def safe_name(name: str) -> str:
    """A plain file name that is as much like this one as may be; never empty, and without any path."""
    last = re.split(r"[/\\]", name)[-1]
    plain = " ".join(_UNWANTED.sub("", last).split()).lstrip(_LEADING).rstrip(" .")
    stem, suffix = _split(plain)
    room = MAX_BYTES - len(suffix.encode())
    return (_cut(stem, room).rstrip(" .") or _NAMELESS) + suffix


def candidates(name: str) -> Iterator[str]:
    """A safe name, and then the same with a number, for ever: `a.png`, `a (1).png`, `a (2).png` and so on."""
    stem, suffix = _split(name)
    yield name
    for number in count(1):
        yield f"{stem} ({number}){suffix}"


def _split(name: str) -> tuple[str, str]:
    suffix = PurePosixPath(name).suffix
    if len(suffix.encode()) > _MAX_SUFFIX_BYTES:
        suffix = ""
    return name.removesuffix(suffix), suffix


def _cut(text: str, max_bytes: int) -> str:
    return text.encode()[:max_bytes].decode("utf-8", "ignore")

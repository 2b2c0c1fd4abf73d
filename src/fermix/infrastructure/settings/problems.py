"""What is wrong with a configuration: every problem with its place, and the error that carries them all."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override

KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys from the top of the file to a value; an integer is a place in an array."""

ENVIRONMENT = "environment"
"""Stands where a file name stands when the wrong value came from an environment variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake, ready to be shown; it never holds the wrong value itself, which may be a secret.

    Attributes:
        source: the path of the file, or `environment`.
        line: counted from 1; `None` where the source has no lines, or the file could not be read at all.
        key: the dotted key or the variable's name; `None` when the whole file is the problem.
        text: what is wrong, in words.
        suggestion: the nearest right name, when there is one.
    """

    source: str
    line: int | None = None
    key: str | None = None
    text: str
    suggestion: str | None = None

    @override
    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        key = "" if self.key is None else f"{self.key}: "
        hint = "" if self.suggestion is None else f'; did you mean "{self.suggestion}"?'
        return f"{place}: {key}{self.text}{hint}"


class ConfigError(Exception):
    """The configuration cannot be used (exit code 7). Its text has one line per problem, in file order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        ordered = sorted(dict.fromkeys(problems), key=lambda problem: (problem.source, problem.line or 0))
        super().__init__("\n".join(str(problem) for problem in ordered))
        self.problems = tuple(ordered)


def dotted(path: KeyPath) -> str:
    """A key path as one writes it in TOML: `a.b`, `a."odd key"`, `a.list[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + _quoted(part)
    return text


def _quoted(part: str) -> str:
    bare = part.isascii() and part.replace("-", "").replace("_", "").isalnum()
    if bare:
        return part
    shown = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in part)
    return '"' + shown.replace('"', '\\"') + '"'

"""The workspace port: reading the folders that the agent may look into."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Protocol


class PathProblem(StrEnum):
    """Why a path cannot be used."""

    BAD_NAME = "bad_name"
    OUTSIDE = "outside"
    PROTECTED = "protected"
    BLOCKED = "blocked"
    MISSING = "missing"
    NOT_A_FILE = "not_a_file"
    NOT_A_FOLDER = "not_a_folder"
    IS_A_FOLDER = "is_a_folder"
    TOO_MANY_LINKS = "too_many_links"
    NO_PERMISSION = "no_permission"
    BINARY = "binary"
    UNREADABLE = "unreadable"


class PathRefused(Exception):
    """The path is not read; `path` is as it was asked for."""

    def __init__(self, path: str, reason: PathProblem) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path!r}: {reason}")


class WorkspaceSlow(Exception):
    """The file system did not answer in time, or the place in the file lies too far behind its beginning."""


class BadPattern(Exception):
    """What was to be looked for cannot be looked for; the text is a sentence for whoever wrote it."""


class StopReason(StrEnum):
    """Which limit ended a search before everything was looked at."""

    MATCHES = "matches"
    ENTRIES = "entries"
    BYTES = "bytes"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPage:
    """Some lines of a file; invalid UTF-8 is shown as U+FFFD.

    Attributes:
        name: relative to the workspace, else absolute.
        text: whole lines, but for the last when `cut`.
        first: number of the first line, from 1.
        lines: how many lines `text` has; 0 past the end of the file, and then `first` is the number of lines + 1.
        more: whether lines follow.
        cut: whether the last line is longer than a page and ends early.
    """

    name: str
    text: str
    first: int
    lines: int
    more: bool
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Files and folders whose names match; folders end with a slash."""

    names: tuple[str, ...]
    stopped: StopReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One line that holds what was searched for; `text` is shortened around it."""

    name: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What a search found.

    Attributes:
        too_large: files that were left out for their size.
    """

    matches: tuple[Match, ...]
    too_large: int = 0
    stopped: StopReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for in files.

    Attributes:
        text: literal text within one line.
        wildcards: a `*` in `text` stands for anything within the line.
        files: only files whose name matches this glob pattern.
    """

    text: str
    ignore_case: bool = False
    wildcards: bool = False
    files: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """A regular file, open as long as the block that gave it.

    Attributes:
        name: its own name, without folders; undecodable bytes are U+FFFD.
        size_bytes: what it had when it was opened.
        content: its bytes from the beginning, piece by piece, as many as there are by then; to be read once.
            Raises `PathRefused` and `WorkspaceSlow`.
    """

    name: str
    size_bytes: int
    content: AsyncIterator[bytes]


class Workspace(Protocol):
    """Reads below the agent's own folder and, for the owner at a terminal, below the folder they work in.

    Paths are relative to the workspace (where nothing is found there, to `cwd`), absolute, or begin with `~/`.
    Links are followed as long as they stay inside. Each method is bounded in time and output.

    Args in common:
        cwd: the folder the owner asks from; ignored unless it is a folder inside their home that may be opened.

    Raises in common:
        PathRefused: the path cannot be used.
        BadPattern: the pattern or text cannot be used.
        WorkspaceSlow: the file system did not answer in time.
    """

    async def read(self, path: str, *, first: int, count: int | None, cwd: PurePath | None) -> TextPage:
        """Lines of a file from number `first` (1 is the first), at most `count`, as many as fit into a page."""
        ...

    def open(self, path: str, *, cwd: PurePath | None) -> AbstractAsyncContextManager[OpenFile]:
        """The bytes of a regular file of any kind and size, while the block lasts."""
        ...

    async def find(self, pattern: str, *, below: str | None, cwd: PurePath | None) -> Found:
        """Files and folders below a folder by glob pattern.

        Args:
            pattern: `*`, `?`, `[…]` within a name, `**` over folders; without a slash it matches a name at any
                depth.
            below: the folder; `None` for all that may be looked into.
        """
        ...

    async def search(self, query: Query, *, below: str | None, cwd: PurePath | None) -> Matches:
        """Lines of the text files below a folder that hold a text."""
        ...

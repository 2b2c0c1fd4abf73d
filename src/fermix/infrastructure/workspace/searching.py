"""Looking for names, and for text in files, below open folders."""

import os
import stat
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import NoReturn

from fermix.application.ports.workspace import Found, Match, Matches, StopReason
from fermix.infrastructure.sandbox.closed import Identity
from fermix.infrastructure.workspace.budget import Budget, Spent
from fermix.infrastructure.workspace.opening import FILE_FLAGS, Opened
from fermix.infrastructure.workspace.patterns import LineSearch, NamePattern
from fermix.infrastructure.workspace.walking import Entry, walk

MAX_FOUND = 500
MAX_MATCHES = 200
MAX_SEARCHED_FILE = 4 * 1024 * 1024
"""Larger files are not searched."""

_LINE_SHOWN = 300
_BEFORE_MATCH = 100
_BINARY_LOOK = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What all searches have in common; `closed` is never looked at."""

    closed: frozenset[Identity]
    budget: Budget


def find_names(starts: Iterable[Opened], pattern: NamePattern, task: Task) -> Found:
    """Files and folders whose path below a start matches."""
    names: list[str] = []
    try:
        for start, entry in _below(starts, task):
            if pattern(entry.parts):
                if len(names) == MAX_FOUND:
                    _enough()
                shown = start.root.shown(start.parts + entry.parts)
                names.append(f"{shown}/" if entry.is_folder else shown)
    except Spent as exc:
        return Found(names=tuple(names), stopped=exc.reason)
    return Found(names=tuple(names))


def find_lines(
    starts: Iterable[Opened], search: LineSearch, files: NamePattern | None, task: Task
) -> Matches:
    """Lines of text files that hold the text."""
    matches: list[Match] = []
    too_large = 0
    try:
        for start, entry in _below(starts, task):
            if entry.is_folder or (files is not None and not files(entry.parts)):
                continue
            if entry.size > MAX_SEARCHED_FILE:
                too_large += 1
                continue
            name = start.root.shown(start.parts + entry.parts)
            for match in _lines_of(entry, name, search, task.budget):
                if len(matches) == MAX_MATCHES:
                    _enough()
                matches.append(match)
    except Spent as exc:
        return Matches(matches=tuple(matches), too_large=too_large, stopped=exc.reason)
    return Matches(matches=tuple(matches), too_large=too_large)


def find_lines_in_file(file: Opened, search: LineSearch, budget: Budget) -> Matches:
    """Lines of one open file that hold the text."""
    if os.fstat(file.handle).st_size > MAX_SEARCHED_FILE:
        return Matches(matches=(), too_large=1)
    matches: list[Match] = []
    try:
        for match in _matching(_content(file.handle, budget), file.root.shown(file.parts), search):
            if len(matches) == MAX_MATCHES:
                _enough()
            matches.append(match)
    except Spent as exc:
        return Matches(matches=tuple(matches), stopped=exc.reason)
    return Matches(matches=tuple(matches))


def _enough() -> NoReturn:
    raise Spent(StopReason.MATCHES)


def _below(starts: Iterable[Opened], task: Task) -> Generator[tuple[Opened, Entry]]:
    closed = task.closed
    for start in starts:
        for entry in walk(start, closed=closed, budget=task.budget):
            yield start, entry
        found = os.fstat(start.handle)
        closed |= {(found.st_dev, found.st_ino)}  # seen: a later start may lie around it


def _lines_of(entry: Entry, name: str, search: LineSearch, budget: Budget) -> Generator[Match]:
    try:
        handle = os.open(entry.name, FILE_FLAGS, dir_fd=entry.folder)
    except OSError:
        return
    try:
        content = _content(handle, budget) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return
    finally:
        os.close(handle)
    yield from _matching(content, name, search)


def _content(handle: int, budget: Budget) -> bytes:
    """The file, or nothing when it is no text; a file that grew meanwhile is read no further than the limit."""
    with open(handle, "rb", closefd=False) as file:
        content = file.read(MAX_SEARCHED_FILE)
    budget.read(len(content))
    return b"" if b"\0" in content[:_BINARY_LOOK] else content


def _matching(content: bytes, name: str, search: LineSearch) -> Generator[Match]:
    text = content.decode(errors="replace")
    if not search.may_be_in(text):
        return
    for number, line in enumerate(text.split("\n"), start=1):
        at = search.find(line)
        if at is not None:
            yield Match(name=name, line=number, text=_shortened(line.rstrip("\r"), at))


def _shortened(line: str, at: int) -> str:
    if len(line) <= _LINE_SHOWN:
        return line
    begin = max(0, min(at - _BEFORE_MATCH, len(line) - _LINE_SHOWN))
    end = begin + _LINE_SHOWN
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"

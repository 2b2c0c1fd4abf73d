"""Walking the folders below an open one, by descriptors, without ever following a link."""

import os
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice

from fermix.infrastructure.sandbox.closed import Identity
from fermix.infrastructure.workspace.budget import Budget
from fermix.infrastructure.workspace.opening import FOLDER_FLAGS, Opened

MAX_WALK_DEPTH = 32
"""Folders below the first that are entered."""

NOT_ENTERED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"}
)
"""Folders of tools: full of files that nobody looks for. They can be searched by naming them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A regular file or folder on the way.

    Attributes:
        folder: an open descriptor of the folder it lies in, good until the walk goes on.
        parts: its place below the folder where the walk began.
        size: bytes of a file.
    """

    folder: int
    name: str
    parts: tuple[str, ...]
    is_folder: bool
    size: int


def walk(start: Opened, *, closed: frozenset[Identity], budget: Budget) -> Generator[Entry]:
    """Everything below an open folder, sorted by name within each folder, files and folders alike.

    Links, pipes, devices, what is closed, and folders that may not be read are passed over.

    Raises:
        Spent: the budget ended.
    """
    return _walk(start.handle, (), closed, budget)


def _walk(
    handle: int, parts: tuple[str, ...], closed: frozenset[Identity], budget: Budget
) -> Generator[Entry]:
    for name, is_folder, size in _entries(handle, closed, budget):
        below = (*parts, name)
        budget.look()
        entry = Entry(folder=handle, name=name, parts=below, is_folder=is_folder, size=size)
        if not is_folder:
            yield entry
            continue
        inner = _open_folder(handle, name, closed)
        if inner is None:
            continue
        try:
            yield entry
            if name not in NOT_ENTERED and len(below) <= MAX_WALK_DEPTH:
                yield from _walk(inner, below, closed, budget)
        finally:
            os.close(inner)


def _entries(handle: int, closed: frozenset[Identity], budget: Budget) -> list[tuple[str, bool, int]]:
    """Name, whether a folder, size; no more than the budget has left: one folder must not fill the memory."""
    found: list[tuple[str, bool, int]] = []
    try:
        with os.scandir(handle) as entries:
            for entry in islice(entries, budget.entries + 1):
                budget.check_time()
                if entry.is_dir(follow_symlinks=False):
                    found.append((entry.name, True, 0))
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    if (status.st_dev, status.st_ino) not in closed:
                        found.append((entry.name, False, status.st_size))
    except OSError:
        return []
    return sorted(found)


def _open_folder(parent: int, name: str, closed: frozenset[Identity]) -> int | None:
    try:
        handle = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    except OSError:
        return None
    found = os.fstat(handle)
    if (found.st_dev, found.st_ino) in closed:
        os.close(handle)
        return None
    return handle

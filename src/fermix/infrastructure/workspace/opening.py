"""Opening a path below a root, one component after the other, so that no link and no race leads out.

A path is never handed to the system as a whole. Each component is opened relative to the folder before it and
without following links; what a link says is read and walked the same way. A folder that is swapped for a link
between two steps makes the next step fail instead of leading elsewhere. What leads out of a root is not followed
here: whoever asked may look whether another root lets it in, and begins there anew.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath

from fermix.application.ports.workspace import PathProblem, PathRefused
from fermix.domain.sandbox import RootProblem
from fermix.infrastructure.sandbox.closed import Closed, Identity
from fermix.infrastructure.workspace.roots import Root

MAX_LINKS = 40
MAX_DEPTH = 64
_MAX_PATH = 4096

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe or device that takes the place of a file must not make us wait, nor become our terminal.
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_PROBLEMS = {
    errno.ENOENT: PathProblem.MISSING,
    errno.ENOTDIR: PathProblem.NOT_A_FOLDER,
    errno.ELOOP: PathProblem.MISSING,  # a link that was none a moment ago
    errno.EACCES: PathProblem.NO_PERMISSION,
    errno.EPERM: PathProblem.NO_PERMISSION,
    errno.ENAMETOOLONG: PathProblem.BAD_NAME,
    errno.ENXIO: PathProblem.NOT_A_FILE,
}

_CLOSED = {RootProblem.PROTECTED: PathProblem.PROTECTED, RootProblem.BLOCKED: PathProblem.BLOCKED}


class LeadsOut(Exception):
    """The path leaves the root, by `..` or by a link.

    Attributes:
        target: the absolute path it means instead.
        links: how many links were followed until then.
    """

    def __init__(self, target: PurePath, links: int) -> None:
        self.target = target
        self.links = links
        super().__init__(str(target))


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An open file or folder, closed when its context ends.

    Attributes:
        handle: its descriptor.
        parts: its real place below the root.
    """

    handle: int
    root: Root
    parts: tuple[str, ...]
    is_folder: bool


@contextmanager
def open_below(root: Root, parts: tuple[str, ...], *, asked: str, closed: Closed) -> Generator[Opened]:
    """The regular file or folder at `parts` below `root`, opened for reading.

    Args:
        root: where the walk begins and what it must not leave.
        parts: components, `..` allowed.
        asked: the path as it was asked for, for errors.
        closed: what is never opened.

    Raises:
        PathRefused: it is closed, missing, or neither file nor folder.
        LeadsOut: it is not below the root.
    """
    walk = _Walk(root=root, closed=closed, refuse=lambda reason: PathRefused(asked, reason))
    try:
        try:
            opened = walk.to(parts)
        except OSError as exc:
            raise PathRefused(asked, problem_of(exc)) from exc
        yield opened
    finally:
        walk.close()


def problem_of(error: OSError) -> PathProblem:
    """What an operating system error on a path means."""
    return _PROBLEMS.get(error.errno or 0, PathProblem.UNREADABLE)


def split(path: str) -> PurePath:
    """A path as somebody wrote it.

    Raises:
        PathRefused: it is no path that a file system could hold.
    """
    try:
        os.fsencode(path)
    except UnicodeEncodeError as exc:
        raise PathRefused(path, PathProblem.BAD_NAME) from exc
    if not path.strip() or "\0" in path or len(path) > _MAX_PATH:
        raise PathRefused(path, PathProblem.BAD_NAME)
    return PurePath(path)


@dataclass(slots=True, kw_only=True)
class _Walk:
    root: Root
    closed: Closed
    refuse: Callable[[PathProblem], PathRefused]
    stack: list[tuple[str, int]] = field(default_factory=list)
    pending: deque[str] = field(default_factory=deque)
    links: int = 0

    def to(self, parts: tuple[str, ...]) -> Opened:
        self._enter("", os.open(self.root.path, FOLDER_FLAGS))
        if _identity(self.stack[-1][1]) != self.root.identity:
            raise self.refuse(PathProblem.MISSING)  # another folder took its place
        self.pending.extend(parts)
        while self.pending:
            name = self.pending.popleft()
            if name == "..":
                self._up()
                continue
            mode = os.stat(name, dir_fd=self.stack[-1][1], follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                self.pending.extendleft(reversed(self._link(name)))
            elif stat.S_ISDIR(mode):
                self._enter(name, os.open(name, FOLDER_FLAGS, dir_fd=self.stack[-1][1]))
            elif not stat.S_ISREG(mode):
                raise self.refuse(PathProblem.NOT_A_FILE)
            elif self.pending:
                raise self.refuse(PathProblem.NOT_A_FOLDER)
            else:
                return self._file(name)
        return self._opened(is_folder=True)

    def close(self) -> None:
        while self.stack:
            os.close(self.stack.pop()[1])

    def _enter(self, name: str, handle: int) -> None:
        self.stack.append((name, handle))
        self._check(handle)
        if len(self.stack) > MAX_DEPTH:
            raise self.refuse(PathProblem.BAD_NAME)

    def _check(self, handle: int) -> None:
        problem = self.closed.problem_of(_identity(handle))
        if problem is not None:
            raise self.refuse(_CLOSED[problem])

    def _up(self) -> None:
        if len(self.stack) > 1:
            os.close(self.stack.pop()[1])
            return
        # The root's path is its real one, so going up by name is going up.
        above = self.root.path.parent
        while self.pending and self.pending[0] == "..":
            self.pending.popleft()
            above = above.parent
        raise LeadsOut(above.joinpath(*self.pending), self.links)

    def _link(self, name: str) -> tuple[str, ...]:
        self.links += 1
        if self.links > MAX_LINKS:
            raise self.refuse(PathProblem.TOO_MANY_LINKS)
        target = PurePath(os.readlink(name, dir_fd=self.stack[-1][1]))
        if not target.is_absolute():
            return target.parts
        below = self.root.below(target)
        if below is None:
            raise LeadsOut(target.joinpath(*self.pending), self.links)
        while len(self.stack) > 1:
            self._up()
        return below

    def _file(self, name: str) -> Opened:
        self.stack.append((name, os.open(name, FILE_FLAGS, dir_fd=self.stack[-1][1])))
        self._check(self.stack[-1][1])
        if not stat.S_ISREG(os.fstat(self.stack[-1][1]).st_mode):
            raise self.refuse(PathProblem.NOT_A_FILE)
        return self._opened(is_folder=False)

    def _opened(self, *, is_folder: bool) -> Opened:
        parts = tuple(name for name, _ in self.stack[1:])
        return Opened(handle=self.stack[-1][1], root=self.root, parts=parts, is_folder=is_folder)


def _identity(handle: int) -> Identity:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino

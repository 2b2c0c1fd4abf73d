"""The workspace port on the machine's own folders."""

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from threading import Event
from typing import TypeVar

import anyio
import anyio.to_thread

from fermix.application.ports.clock import Clock
from fermix.application.ports.workspace import (
    Found,
    Matches,
    OpenFile,
    PathProblem,
    PathRefused,
    Query,
    TextPage,
    WorkspaceSlow,
)
from fermix.domain.sandbox import is_within
from fermix.infrastructure.sandbox.canonical import real_path
from fermix.infrastructure.sandbox.closed import Closed
from fermix.infrastructure.workspace.budget import Budget, Spent
from fermix.infrastructure.workspace.opening import MAX_LINKS, LeadsOut, Opened, open_below, problem_of, split
from fermix.infrastructure.workspace.pages import read_page
from fermix.infrastructure.workspace.patterns import LineSearch, compile_glob
from fermix.infrastructure.workspace.roots import Places, Reach, Root
from fermix.infrastructure.workspace.searching import Task, find_lines, find_lines_in_file, find_names
from fermix.infrastructure.workspace.streaming import SharedHandle

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceLimits:
    """What one call may cost.

    Attributes:
        seconds: for the work; a file system that hangs is given as long again before nobody waits for it any more.
        entries: files and folders looked at.
        size: bytes read.
        at_once: calls that work at the same time; others wait, within their time.
    """

    seconds: float = 10.0
    entries: int = 50_000
    size: int = 64 * 1024 * 1024
    at_once: int = 4


class FolderWorkspace:
    """Reads below the folders that the sandbox in force opens."""

    def __init__(self, *, places: Places, clock: Clock, limits: WorkspaceLimits | None = None) -> None:
        self._places = places
        self._clock = clock
        self._limits = limits or WorkspaceLimits()
        self._limiter = anyio.CapacityLimiter(self._limits.at_once)

    async def read(self, path: str, *, first: int, count: int | None, cwd: PurePath | None) -> TextPage:
        """Lines of a file, as the port says."""

        def work(budget: Budget) -> TextPage:
            with self._opened(path, cwd) as (opened, _):
                if opened.is_folder:
                    raise PathRefused(path, PathProblem.IS_A_FOLDER)
                name = opened.root.shown(opened.parts)
                with open(opened.handle, "rb", closefd=False) as file:
                    try:
                        return read_page(file, name=name, first=first, count=count, budget=budget)
                    except Spent as exc:
                        raise WorkspaceSlow(path) from exc
                    except OSError as exc:
                        raise PathRefused(path, problem_of(exc)) from exc

        return await self._in_thread(work)

    @asynccontextmanager
    async def open(self, path: str, *, cwd: PurePath | None) -> AsyncGenerator[OpenFile]:
        """A file to be read piece by piece, as the port says. Each piece has the time of one call."""
        shared = SharedHandle()

        def work(_budget: Budget) -> tuple[str, int]:
            with self._opened(path, cwd) as (opened, _):
                if opened.is_folder:
                    raise PathRefused(path, PathProblem.IS_A_FOLDER)
                return os.fsencode(opened.parts[-1]).decode(errors="replace"), shared.take(opened.handle)

        def read(_budget: Budget) -> bytes:
            try:
                return shared.read()
            except OSError as exc:
                raise PathRefused(path, problem_of(exc)) from exc

        async def pieces() -> AsyncGenerator[bytes]:
            while piece := await self._in_thread(read):
                yield piece

        try:
            name, size = await self._in_thread(work)
            async with aclosing(pieces()) as content:
                yield OpenFile(name=name, size_bytes=size, content=content)
        finally:
            shared.give_up()

    async def find(self, pattern: str, *, below: str | None, cwd: PurePath | None) -> Found:
        """Names by pattern, as the port says."""
        matches = compile_glob(pattern)

        def work(budget: Budget) -> Found:
            with self._starts(below, cwd) as (starts, closed):
                if not starts[0].is_folder:
                    raise PathRefused(below or pattern, PathProblem.NOT_A_FOLDER)
                return find_names(starts, matches, Task(closed=closed.all, budget=budget))

        return await self._in_thread(work)

    async def search(self, query: Query, *, below: str | None, cwd: PurePath | None) -> Matches:
        """Lines by text, as the port says; `below` may also be a file."""
        search = LineSearch(query.text, ignore_case=query.ignore_case, wildcards=query.wildcards)
        files = None if query.files is None else compile_glob(query.files)

        def work(budget: Budget) -> Matches:
            with self._starts(below, cwd) as (starts, closed):
                if not starts[0].is_folder:
                    return self._search_file(starts[0], search, budget)
                return find_lines(starts, search, files, Task(closed=closed.all, budget=budget))

        return await self._in_thread(work)

    def _search_file(self, file: Opened, search: LineSearch, budget: Budget) -> Matches:
        try:
            return find_lines_in_file(file, search, budget)
        except OSError as exc:
            raise PathRefused(file.root.shown(file.parts), problem_of(exc)) from exc

    async def _in_thread(self, work: Callable[[Budget], _T]) -> _T:
        given_up = Event()
        budget = Budget(
            monotonic=self._clock.monotonic,
            deadline=self._clock.monotonic() + self._limits.seconds,
            given_up=given_up,
            entries=self._limits.entries,
            size=self._limits.size,
        )
        try:
            with anyio.fail_after(2 * self._limits.seconds):
                return await anyio.to_thread.run_sync(
                    work, budget, abandon_on_cancel=True, limiter=self._limiter
                )
        except TimeoutError as exc:
            raise WorkspaceSlow("the file system does not answer") from exc
        finally:
            given_up.set()

    @contextmanager
    def _starts(
        self, below: str | None, cwd: PurePath | None
    ) -> Generator[tuple[tuple[Opened, ...], Closed]]:
        if below is not None:
            with self._opened(below, cwd) as (opened, closed):
                yield (opened,), closed
            return
        reach = self._reach(cwd)
        starts: list[Opened] = []
        with ExitStack() as stack:
            for root in reach.roots:
                if any(is_within(root.path, seen.root.path) for seen in starts):
                    continue
                try:
                    starts.append(stack.enter_context(open_below(root, (), asked=".", closed=reach.closed)))
                except PathRefused:
                    if root.relative:
                        raise
            if not starts:
                raise PathRefused(".", PathProblem.OUTSIDE)
            yield tuple(starts), reach.closed

    @contextmanager
    def _opened(self, path: str, cwd: PurePath | None) -> Generator[tuple[Opened, Closed]]:
        asked = split(path)
        reach = self._reach(cwd)
        if asked.parts[:1] == ("~",):
            asked = reach.user_home.joinpath(*asked.parts[1:])
        with ExitStack() as stack:
            yield _followed(stack, asked, path, reach), reach.closed

    def _reach(self, cwd: PurePath | None) -> Reach:
        try:
            return self._places.reach(cwd)
        except OSError as exc:
            raise PathRefused("the workspace", problem_of(exc)) from exc


def _followed(stack: ExitStack, place: PurePath, asked: str, reach: Reach) -> Opened:
    """Open a place; what leads out of one root is looked for in the others."""
    links = 0
    while links <= MAX_LINKS:
        try:
            return stack.enter_context(_first_of(_candidates(place, reach), asked, reach.closed))
        except LeadsOut as exc:
            place, links = exc.target, links + exc.links + 1
    raise PathRefused(asked, PathProblem.TOO_MANY_LINKS)


@contextmanager
def _first_of(
    candidates: list[tuple[Root, tuple[str, ...]]], asked: str, closed: Closed
) -> Generator[Opened]:
    """The first of the places that is there."""
    with ExitStack() as stack:
        for number, (root, parts) in enumerate(candidates, start=1):
            try:
                opened = stack.enter_context(open_below(root, parts, asked=asked, closed=closed))
                break
            except PathRefused as exc:
                if number == len(candidates) or exc.reason is not PathProblem.MISSING:
                    raise
        else:
            raise PathRefused(asked, PathProblem.OUTSIDE)
        yield opened


def _candidates(asked: PurePath, reach: Reach) -> list[tuple[Root, tuple[str, ...]]]:
    """The places that a path can mean, in order."""
    if not asked.is_absolute():
        return [(root, asked.parts) for root in reach.roots]
    return _inside(asked, reach) or _inside(_real(asked), reach)


def _inside(asked: PurePath, reach: Reach) -> list[tuple[Root, tuple[str, ...]]]:
    return [(root, below) for root in reach.roots if (below := root.below(asked)) is not None]


def _real(path: PurePath) -> PurePath:
    try:
        return real_path(path)
    except (OSError, ValueError):
        return path

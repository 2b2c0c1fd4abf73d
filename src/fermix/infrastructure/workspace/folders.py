"""The workspace port on the machine's own folders."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
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
    PathProblem,
    PathRefused,
    Query,
    TextPage,
    WorkspaceSlow,
)
from fermix.infrastructure.workspace.budget import Budget, Spent
from fermix.infrastructure.workspace.opening import Opened, open_below, problem_of, split
from fermix.infrastructure.workspace.pages import read_page
from fermix.infrastructure.workspace.patterns import LineSearch, compile_glob
from fermix.infrastructure.workspace.roots import Identity, Places, Root
from fermix.infrastructure.workspace.searching import Task, find_lines, find_lines_in_file, find_names

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
    """Reads below the workspace folder and, if it may be opened, below the folder the owner asks from."""

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

    async def find(self, pattern: str, *, below: str | None, cwd: PurePath | None) -> Found:
        """Names by pattern, as the port says."""
        matches = compile_glob(pattern)

        def work(budget: Budget) -> Found:
            with self._starts(below, cwd) as (starts, protected):
                if not starts[0].is_folder:
                    raise PathRefused(below or pattern, PathProblem.NOT_A_FOLDER)
                return find_names(starts, matches, Task(protected=protected, budget=budget))

        return await self._in_thread(work)

    async def search(self, query: Query, *, below: str | None, cwd: PurePath | None) -> Matches:
        """Lines by text, as the port says; `below` may also be a file."""
        search = LineSearch(query.text, ignore_case=query.ignore_case, wildcards=query.wildcards)
        files = None if query.files is None else compile_glob(query.files)

        def work(budget: Budget) -> Matches:
            with self._starts(below, cwd) as (starts, protected):
                if not starts[0].is_folder:
                    return self._search_file(starts[0], search, budget)
                return find_lines(starts, search, files, Task(protected=protected, budget=budget))

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
    ) -> Generator[tuple[tuple[Opened, ...], frozenset[Identity]]]:
        if below is not None:
            with self._opened(below, cwd) as (opened, protected):
                yield (opened,), protected
            return
        roots, protected = self._roots(cwd), self._places.protected()
        with ExitStack() as stack:
            yield (
                tuple(
                    stack.enter_context(open_below(root, (), asked=".", protected=protected))
                    for root in roots
                ),
                protected,
            )

    @contextmanager
    def _opened(self, path: str, cwd: PurePath | None) -> Generator[tuple[Opened, frozenset[Identity]]]:
        roots, protected = self._roots(cwd), self._places.protected()
        with ExitStack() as stack:
            for root, parts, is_last in self._candidates(path, roots):
                try:
                    opened = stack.enter_context(open_below(root, parts, asked=path, protected=protected))
                    break
                except PathRefused as exc:
                    if is_last or exc.reason is not PathProblem.MISSING:
                        raise
            else:
                raise PathRefused(path, PathProblem.OUTSIDE)
            yield opened, protected

    def _candidates(self, path: str, roots: tuple[Root, ...]) -> list[tuple[Root, tuple[str, ...], bool]]:
        """The places that `path` can mean, in order; the flag marks the last."""
        asked = split(path)
        if asked.parts[:1] == ("~",):
            asked = self._places.user_home.joinpath(*asked.parts[1:])
        if asked.is_absolute():
            inside = [(root, below) for root in roots if (below := root.below(asked)) is not None]
        else:
            inside = [(root, asked.parts) for root in roots]
        return [(root, below, number == len(inside)) for number, (root, below) in enumerate(inside, start=1)]

    def _roots(self, cwd: PurePath | None) -> tuple[Root, ...]:
        try:
            return self._places.roots(cwd)
        except OSError as exc:
            raise PathRefused(str(self._places.workspace), problem_of(exc)) from exc

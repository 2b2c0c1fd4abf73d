"""A check of a conformance suite, the gaps an adapter declares, and running one against the other."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from fermix.testing.expectations import PromiseBroken

H = TypeVar("H")

Run: TypeAlias = Callable[[H], Awaitable[None]]


class CannotArrange(Exception):
    """A harness cannot bring about what a check needs; the text says why. Only allowed where a gap says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[H]):
    """One promise of a port, put to the test.

    Attributes:
        id: stable; by it an adapter names what it cannot keep.
        promise: in one sentence.
        requirements: ids of the specified behaviours it is a proof of.
        run: raises `PromiseBroken` when the promise is not kept, and `CannotArrange` when the harness cannot
            show it. Needs a fresh harness.
    """

    id: str
    promise: str
    requirements: tuple[str, ...]
    run: Run[H]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What an adapter is known not to keep, or not to be able to show: the id of a check, and why."""

    check: str
    reason: str


def as_check(
    run: Run[H], *requirements: str, broken_by: type[Exception] | tuple[type[Exception], ...]
) -> Check[H]:
    """Make a check of a function: its name is the id, its docstring the promise.

    Args:
        run: the function; its first docstring line is one sentence.
        requirements: what it proves.
        broken_by: errors of the port that the function does not expect; one that escapes breaks the promise.
    """
    name = getattr(run, "__name__", "")

    async def told(harness: H) -> None:
        try:
            await _unwrapped(run(harness), broken_by)
        except broken_by as exc:
            raise PromiseBroken(f"{name}: {type(exc).__name__}: {exc}") from exc

    return Check(id=name, promise=inspect.getdoc(run) or "", requirements=requirements, run=told)


async def _unwrapped(
    running: Awaitable[None], broken_by: type[Exception] | tuple[type[Exception], ...]
) -> None:
    """What the suites know how to tell comes out alone, through however many task groups it went."""
    several = broken_by if isinstance(broken_by, tuple) else (broken_by,)
    told: tuple[type[Exception], ...] = (PromiseBroken, CannotArrange, *several)
    try:
        await running
    except ExceptionGroup as group:
        error: Exception = group
        while isinstance(error, ExceptionGroup) and error.split(told)[1] is None:
            error = error.exceptions[0]
        raise error from error.__cause__


async def run_check(check: Check[H], harness: H, *, gaps: Iterable[Gap] = ()) -> Gap | None:
    """Run a check, or hold a declared gap to be one still.

    Returns:
        The gap that was met, `None` when the promise is kept.

    Raises:
        PromiseBroken: the promise is not kept and no gap says so; or it is kept although a gap is declared.
        CannotArrange: the harness cannot show it and no gap says so.
    """
    gap = next((gap for gap in gaps if gap.check == check.id), None)
    try:
        await check.run(harness)
    except (PromiseBroken, CannotArrange):
        if gap is None:
            raise
        return gap
    if gap is not None:
        raise PromiseBroken(f"{check.id}: the declared gap is none any more ({gap.reason})")
    return None

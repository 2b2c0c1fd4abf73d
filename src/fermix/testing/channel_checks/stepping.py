"""Cancelling a call at one of its awaits, whichever the test wants."""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

import anyio


class _Stepping:
    """An awaitable that counts how often what it wraps lets go of the event loop."""

    def __init__(self, work: Awaitable[object], *, at: int, then: Callable[[], None]) -> None:
        self._work = work
        self._left = at
        self._then = then

    def __await__(self) -> Generator[Any, Any, object]:
        running = self._work.__await__()
        do: Callable[[], Any] = running.__next__
        while True:
            try:
                waits_for = do()
            except StopIteration as done:
                return done.value
            self._left -= 1
            if self._left == 0:
                self._then()
            do = _resumed(running, (yield from _caught(waits_for)))


def _caught(waits_for: Any) -> Generator[Any, Any, tuple[Any, BaseException | None]]:
    """Hand over what is waited for, and bring back what came of it: a value, or what was thrown in."""
    try:
        return (yield waits_for), None
    except BaseException as exc:  # noqa: BLE001  # passed on to whoever waits, cancellation included
        return None, exc


def _resumed(running: Generator[Any, Any, Any], came: tuple[Any, BaseException | None]) -> Callable[[], Any]:
    value, error = came
    return (lambda: running.send(value)) if error is None else (lambda: running.throw(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """What became of a call that was to be cancelled.

    Attributes:
        asked: it got as far as the await at which it was cancelled.
        obeyed: it ended by that, and with nothing else.
    """

    asked: bool
    obeyed: bool


async def cancelled_at(step: int, work: Callable[[], Awaitable[object]]) -> Cancelled:
    """Begin a call, and cancel it when it waits for the `step`-th time (from 1)."""
    with anyio.CancelScope() as scope:
        await _Stepping(work(), at=step, then=scope.cancel)
    return Cancelled(asked=scope.cancel_called, obeyed=scope.cancelled_caught)

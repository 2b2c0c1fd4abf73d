"""Time that stands still until a test moves it, and ids that can be foretold."""

from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

import anyio
import anyio.lowlevel
from typing_extensions import override

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""When a stopped clock begins, unless told otherwise: a whole second, far from any change of clocks."""


class StoppedClock:
    """The `Clock` port without waiting: who sleeps wakes when `advance` passes the instant it waits for.

    One clock belongs to one event loop. Reading the time from other threads is safe.
    """

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._now = start
        self._sleepers: list[tuple[datetime, int, anyio.Event]] = []
        self._numbers = count()

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._now

    def monotonic(self) -> float:
        """See `Clock.monotonic`; zero at the start."""
        return (self._now - self._start).total_seconds()

    async def sleep_until(self, instant: datetime) -> None:
        """See `Clock.sleep_until`; an instant that has passed is a checkpoint only."""
        if instant <= self._now:
            await anyio.lowlevel.checkpoint()
            return
        sleeper = (instant, next(self._numbers), anyio.Event())
        self._sleepers.append(sleeper)
        try:
            await sleeper[2].wait()
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    @property
    def sleepers(self) -> int:
        """How many tasks wait for a time."""
        return len(self._sleepers)

    def set_back(self, by: timedelta) -> None:
        """Somebody sets the clock back; who sleeps until an instant sleeps longer.

        Raises:
            ValueError: that would be forward.
        """
        if by < timedelta(0):
            raise ValueError("that is forward")
        self._now -= by

    def advance(self, by: timedelta) -> None:
        """Let time pass; sleepers become ready in the order of their instants, equal ones as they came.

        Raises:
            ValueError: time does not go back.
        """
        if by < timedelta(0):
            raise ValueError("time does not go back")
        self._now += by
        due = sorted(sleeper[:2] for sleeper in self._sleepers if sleeper[0] <= self._now)
        events = {sleeper[1]: sleeper[2] for sleeper in self._sleepers}
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._now]
        for _, number in due:
            events[number].set()


class HastyClock(StoppedClock):
    """A stopped clock that jumps to whatever instant somebody waits for: no wait takes any time."""

    @override
    async def sleep_until(self, instant: datetime) -> None:
        """See `Clock.sleep_until`; a checkpoint only."""
        await anyio.lowlevel.checkpoint()
        self.advance(max(instant - self.now(), timedelta(0)))


class CountedIds:
    """The `Ids` port with UUIDs that count up, so that a run can be repeated. Unique within one object only."""

    def __init__(self, *, first: int = 1) -> None:
        self._numbers = count(first)

    def new(self) -> str:
        """See `Ids.new`."""
        return str(UUID(int=next(self._numbers), version=4))

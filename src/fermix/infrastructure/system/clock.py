"""The machine's clock; the only place that reads it."""

import time
from datetime import UTC, datetime

import anyio
import anyio.lowlevel

_LONGEST_NAP_SECONDS = 30.0


class SystemClock:
    """The clock port on the machine's own clocks."""

    def now(self) -> datetime:
        """The current instant in UTC."""
        return datetime.now(UTC)  # noqa: TID251 -- this adapter is where time comes in

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""
        return time.monotonic()

    async def sleep_until(self, instant: datetime) -> None:
        """Return once `now() >= instant`; at once, after a checkpoint, when it already is.

        Sleeps are counted on a clock that stands still while the machine is suspended, and the wall clock may be
        set. So no single sleep is long: a planned time is noticed at most half a minute late.
        """
        await anyio.lowlevel.checkpoint()
        while (left := (instant - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 -- time has no event
            await anyio.sleep(min(left, _LONGEST_NAP_SECONDS))

"""Waiting for news or for an instant, whichever comes first."""

from datetime import datetime

import anyio
import anyio.lowlevel

from fermix.application.ports.clock import Clock

_SLACK_SECONDS = 1.0


class Wakeup:
    """One waiter, any number of wakers; a wake while nobody waits is remembered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._news = anyio.Event()

    def wake(self) -> None:
        """Let the waiter look again, now or when it next waits."""
        self._news.set()

    async def wait(self, until: datetime | None) -> None:
        """Return on the next `wake`, or at `until`; or before, when the clock was set back meanwhile.

        Who is cancelled leaves here even if there is always news: a loop around this may have no other place to.
        """
        if self._news.is_set():
            await anyio.lowlevel.checkpoint()
        else:
            async with anyio.create_task_group() as either:
                if until is not None:
                    either.start_soon(self._at, until, either.cancel_scope)
                await self._news.wait()
                either.cancel_scope.cancel()
        if self._news.is_set():
            self._news = anyio.Event()

    async def _at(self, until: datetime, scope: anyio.CancelScope) -> None:
        # No longer than it takes from now: a clock that is set back meanwhile must not hold the waiter.
        left = (until - self._clock.now()).total_seconds()
        with anyio.move_on_after(max(left, 0.0) + _SLACK_SECONDS):
            await self._clock.sleep_until(until)
        scope.cancel()

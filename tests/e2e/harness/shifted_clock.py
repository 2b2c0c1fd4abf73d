"""A machine whose clock somebody sets: so many seconds away from the real one, as a file says at each look."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
from dependency_injector import providers

from fermix.entrypoints.container import Container
from fermix.infrastructure.system.clock import SystemClock

_NAP_SECONDS = 0.05


class ShiftedClock:
    """The clock port; the file may change while it runs."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._real = SystemClock()

    def now(self) -> datetime:
        return self._real.now().astimezone(UTC) + timedelta(seconds=float(self._file.read_text() or 0))

    def monotonic(self) -> float:
        return self._real.monotonic()

    async def sleep_until(self, instant: datetime) -> None:
        await anyio.lowlevel.checkpoint()
        while self.now() < instant:  # noqa: ASYNC110 - a file has no event
            await anyio.sleep(_NAP_SECONDS)


def shift_clocks(file: Path) -> None:
    """Let every container of this process, and the ledger it opens, have such a clock."""
    Container.clock.override(providers.Object(ShiftedClock(file)))


def set_clock(file: Path, seconds: float) -> None:
    """Set the clock, so that nobody reads half a number."""
    new = file.with_suffix(".new")
    new.write_text(str(seconds))
    new.replace(file)

"""The in-memory ledger under the hands of the suites."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random

from fermix.domain.lane import QueueLimits
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory.process import MemoryDisk
from fermix.testing.memory_ledger import MemoryLedger


class MemoryHome:
    """A `LedgerHarness` over one disk in memory."""

    def __init__(self) -> None:
        self._clock = StoppedClock()
        self._ids = CountedIds()
        self._disk = MemoryDisk()
        self._open: list[MemoryLedger] = []

    @property
    def clock(self) -> StoppedClock:
        """See `LedgerHarness.clock`."""
        return self._clock

    @asynccontextmanager
    async def open(self, *, limits: QueueLimits | None = None) -> AsyncGenerator[MemoryLedger]:
        """See `LedgerHarness.open`."""
        ledger = MemoryLedger(clock=self._clock, ids=self._ids, limits=limits, disk=self._disk)
        self._open.append(ledger)
        try:
            yield ledger
        finally:
            ledger.kill()

    async def kill(self) -> None:
        """See `LedgerHarness.kill`."""
        while self._open:
            self._open.pop().kill()

    async def cut_power(self, chance: Random | None = None) -> None:
        """See `LedgerHarness.cut_power`."""
        await self.kill()
        unsynced = self._disk.unsynced
        self._disk.cut_power(keep=0 if chance is None else chance.randint(0, unsynced))

    async def cursor(self, origin: str, scope: str) -> str | None:
        """See `LedgerHarness.cursor`."""
        return self._disk.newest.cursors.get((origin, scope))

"""The channels that are put to the test, each with its platform."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from fermix.testing.clock import HastyClock as HastyClock  # noqa: PLC0414 - whoever opens a platform needs it
from tests.contract.channel.memory_far_side import MakeChannel, OpenMemory, as_it_is


class MemoryHarness:
    """A `ChannelHarness` in memory."""

    def __init__(self, make: MakeChannel = as_it_is, *, patience: timedelta = timedelta(seconds=5)) -> None:
        self._make = make
        self._patience = patience

    @property
    def patience(self) -> timedelta:
        return self._patience

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenMemory]:
        yield OpenMemory(self._make, HastyClock())

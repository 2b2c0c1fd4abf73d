"""Stores of files under the hands of the suite."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fermix.application.ports.blobs import Blobs
from fermix.infrastructure.blobs.store import FolderBlobs
from fermix.testing.blob_conformance import CAPACITY, BlobHarness
from fermix.testing.clock import CountedIds, StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs


class MemoryPlace:
    """A `BlobHarness` in memory."""

    def __init__(self, folder: Path) -> None:
        self.clock = StoppedClock()
        self._blobs = MemoryBlobs(clock=self.clock, max_bytes=CAPACITY)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Blobs]:
        yield self._blobs

    async def left_behind(self) -> int:
        return 0


class FolderPlace:
    """A `BlobHarness` over a folder."""

    def __init__(self, folder: Path) -> None:
        self.clock = StoppedClock()
        self._folder = folder / "media"

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Blobs]:
        yield FolderBlobs(self._folder, clock=self.clock, ids=CountedIds(), max_bytes=CAPACITY)

    async def left_behind(self) -> int:
        return sum(len(entry.name) != 64 for entry in self._folder.iterdir())


PLACES: Mapping[str, Callable[[Path], BlobHarness]] = {"memory": MemoryPlace, "folder": FolderPlace}

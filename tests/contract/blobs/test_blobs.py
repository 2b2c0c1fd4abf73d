"""Every store of files passes the suite on both event loops; and the suite notices stores that must not."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.blobs import BlobMissing, Blobs
from fermix.domain.blob import BlobRef
from fermix.testing.blob_conformance import BLOB_CHECKS, CAPACITY, BlobCheck, BlobHarness
from fermix.testing.checks import run_check
from fermix.testing.clock import StoppedClock
from fermix.testing.expectations import PromiseBroken
from fermix.testing.memory_blobs import MemoryBlobs
from tests.contract.blobs.places import PLACES

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("media.byte_caps_on_the_stream")
@pytest.mark.parametrize("check", BLOB_CHECKS, ids=lambda check: check.id)
@pytest.mark.parametrize("place", PLACES)
async def test_a_store_keeps_its_promise(place: str, check: BlobCheck, tmp_path: Path) -> None:
    harness: BlobHarness = PLACES[place](tmp_path)
    with anyio.fail_after(20):
        await run_check(check, harness)


class Faulty:
    """A store that does as the one in memory does; each saboteur changes one thing."""

    def __init__(self, inside: MemoryBlobs) -> None:
        self.inside = inside
        self.left = 0

    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        return await self.inside.store(content, limit=limit)

    def open(self, blob: BlobRef) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.inside.open(blob)

    async def stale(self, *, before: datetime, limit: int) -> Sequence[str]:
        return await self.inside.stale(before=before, limit=limit)

    async def remove(self, digest: str, *, before: datetime) -> bool:
        return await self.inside.remove(digest, before=before)


class GivesUpEarly(Faulty):
    @override
    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        return await self.inside.store(content, limit=limit - 1)


class LeavesTheRest(Faulty):
    @override
    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        try:
            return await self.inside.store(content, limit=limit)
        except ZeroDivisionError:
            self.left += 1
            raise


class KnowsNoEnd(Faulty):
    def __init__(self, inside: MemoryBlobs) -> None:
        super().__init__(MemoryBlobs(clock=StoppedClock(), max_bytes=CAPACITY * 10))


class TakesAnySize(Faulty):
    @override
    def open(self, blob: BlobRef) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        @asynccontextmanager
        async def opened() -> AsyncGenerator[AsyncIterator[bytes]]:
            for size in (blob.size_bytes, blob.size_bytes - 1):
                try:
                    async with self.inside.open(BlobRef(digest=blob.digest, size_bytes=size)) as pieces:
                        yield pieces
                        return
                except BlobMissing:
                    continue
            raise BlobMissing

        return opened()


class NamesTheYoung(Faulty):
    @override
    async def stale(self, *, before: datetime, limit: int) -> Sequence[str]:
        return await self.inside.stale(before=before + timedelta(minutes=1), limit=limit)


class RemovesWhatCameAgain(Faulty):
    @override
    async def remove(self, digest: str, *, before: datetime) -> bool:
        return await self.inside.remove(digest, before=before + timedelta(days=1))


class ForgetsAtTheEnd(Faulty):
    """Keeps nothing for the next process."""


class MixesUp(Faulty):
    """Lets two streams that come in together write into one file."""

    busy = 0

    @override
    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        self.busy += 1
        try:
            if self.busy == 1:
                return await self.inside.store(content, limit=limit)
            async for _ in content:
                pass
            return await self.inside.store(_some(), limit=limit)
        finally:
            self.busy -= 1


async def _some() -> AsyncGenerator[bytes]:
    yield b"somebody else's"


class SabotagedPlace:
    """A place whose store has a fault."""

    def __init__(self, make: Callable[[MemoryBlobs], Faulty]) -> None:
        self.clock = StoppedClock()
        self._make = make
        self._blobs = make(MemoryBlobs(clock=self.clock, max_bytes=CAPACITY))

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Blobs]:
        if isinstance(self._blobs, ForgetsAtTheEnd):
            self._blobs = self._make(MemoryBlobs(clock=self.clock, max_bytes=CAPACITY))
        yield self._blobs

    async def left_behind(self) -> int:
        return self._blobs.left


SABOTEURS: dict[str, Callable[[MemoryBlobs], Faulty]] = {
    "what_is_stored_is_there_after_a_restart": ForgetsAtTheEnd,
    "a_stream_ends_at_its_limit": GivesUpEarly,
    "a_broken_stream_leaves_nothing": LeavesTheRest,
    "a_store_has_an_end": KnowsNoEnd,
    "what_is_not_there_is_told": TakesAnySize,
    "old_files_are_named_and_go": NamesTheYoung,
    "what_is_stored_again_is_young_again": RemovesWhatCameAgain,
    "many_at_once_are_kept_apart": MixesUp,
}


@pytest.mark.parametrize("check", BLOB_CHECKS, ids=lambda check: check.id)
async def test_a_check_notices_its_saboteur(check: BlobCheck) -> None:
    place: BlobHarness = SabotagedPlace(SABOTEURS[check.id])
    with anyio.fail_after(20), pytest.raises(PromiseBroken):
        await run_check(check, place)

"""The local transcriber with a store in memory, and stores that misbehave in the middle of a recording."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.transcription import Audio, Transcript
from fermix.domain.blob import BlobRef
from fermix.infrastructure.system.child_python import Launch
from fermix.infrastructure.transcription.local.models import SpeechModel, built_in_model
from fermix.infrastructure.transcription.local.transcriber import (
    ListeningLimits,
    LocalTranscriber,
    open_local_transcriber,
)
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.transcriber_checks.check import stored


class WatchedBlobs:
    """A store that does something after the first piece of each recording; a piece has a few bytes."""

    def __init__(self, blobs: ReadsBlobs) -> None:
        self._blobs = blobs
        self.then: Callable[[], None] | None = None
        self.stalls = False
        self.reached = anyio.Event()
        self.handed_over = anyio.Event()

    @asynccontextmanager
    async def open(self, blob: BlobRef) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with self._blobs.open(blob) as pieces:
            content = b"".join([piece async for piece in pieces])
            yield self._watched(content)

    async def _watched(self, content: bytes) -> AsyncIterator[bytes]:
        yield content[:100]
        self.reached.set()
        if self.stalls:
            await anyio.sleep_forever()
        if self.then is not None:
            self.then()
        yield content[100:]
        self.handed_over.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """A transcriber, and the store it reads from."""

    transcriber: LocalTranscriber
    blobs: MemoryBlobs
    watched: WatchedBlobs

    async def audio(self, content: bytes) -> Audio:
        return await stored(self.blobs, content)

    async def hears(self, content: bytes) -> Transcript:
        return await self.transcriber.transcribe(await self.audio(content))

    @property
    def pid(self) -> int:
        assert self.transcriber.pid is not None
        return self.transcriber.pid


@asynccontextmanager
async def listening(
    *,
    model: SpeechModel | None = None,
    limits: ListeningLimits | None = None,
    launch: Launch | None = None,
    scratch: Path | None = None,
) -> AsyncGenerator[Listening]:
    """A local transcriber; `scratch` is where its process keeps files for a moment."""
    blobs = MemoryBlobs(clock=StoppedClock())
    watched = WatchedBlobs(blobs)
    environment = {} if scratch is None else {"TMPDIR": str(scratch)}
    async with open_local_transcriber(
        blobs=watched,
        model=model or built_in_model(),
        launch=launch or Launch(environment=environment),
        limits=limits,
    ) as transcriber:
        yield Listening(transcriber=transcriber, blobs=blobs, watched=watched)

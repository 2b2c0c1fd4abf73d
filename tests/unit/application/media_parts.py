"""What prepares media in tests: a platform that hands out files as arranged, and plain pictures."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import anyio

from fermix.application.media.fetching import FetchMedia
from fermix.application.media.limits import Caps, MediaLimits
from fermix.application.media.making import MakeMedia
from fermix.application.media.preparer import Preparer
from fermix.application.ports.channel import (
    ChannelError,
    ChannelFeatures,
    ChannelRejected,
    MediaSource,
    MediaTooLarge,
)
from fermix.application.ports.clock import Clock
from fermix.application.ports.media_queue import MediaQueue
from fermix.application.ports.pictures import PictureError
from fermix.application.ports.telemetry import UNHEARD, Telemetry
from fermix.application.ports.transcription import Transcriber
from fermix.domain.blob import BlobRef
from fermix.domain.ids import ChannelName
from fermix.domain.message import AttachmentKind
from fermix.domain.picture import Picture
from fermix.testing.memory_blobs import MemoryBlobs

PNG = b"\x89PNG\r\n\x1a\n"
OGG = b"OggS" + bytes(24) + b"OpusHead"
PDF = b"%PDF-1.7\n"
HTML = b"<!DOCTYPE html><title>Sign in</title>"

WORDS_OF_KIND = {PNG: "image", OGG: "audio", PDF: "file"}


@dataclass(slots=True)
class FileServer:
    """The `MediaSource` of a platform in memory.

    Attributes:
        files: by reference; an error stands for a file that cannot be had.
        asked: every reference that was asked for, in order.
        gate: while it is set and not open, downloads hang.
        troubles: what goes wrong with the next downloads, before they begin.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    gate: anyio.Event | None = None
    troubles: list[ChannelError | Exception] = field(default_factory=list)
    piece: int = 1024
    left_early: int = 0
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    def add(self, content: bytes, **facts: object) -> Mapping[str, object]:
        """Somebody's file; what a message says of it."""
        reference = f"file-{len(self.files) + 1}"
        self.files[reference] = content
        kind = next((word for start, word in WORDS_OF_KIND.items() if content.startswith(start)), "file")
        return {"kind": kind, "reference": reference, **facts}

    async def asked_for(self, count: int) -> None:
        """Wait until so many downloads have begun."""
        with anyio.fail_after(5):
            while len(self.asked) < count:
                self._arrived = anyio.Event()
                await self._arrived.wait()

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        self.asked.append(reference)
        self._arrived.set()
        if self.troubles:
            raise self.troubles.pop(0)
        async with aclosing(self._pieces(reference, limit)) as pieces:
            yield pieces

    async def _pieces(self, reference: str, limit: int) -> AsyncGenerator[bytes]:
        taken, content = 0, self.files.get(reference)
        if content is None:
            raise ChannelRejected("there is no such file")
        try:
            for start in range(0, len(content), self.piece):
                if self.gate is not None:
                    await self.gate.wait()
                await anyio.lowlevel.checkpoint()
                taken += len(piece := content[start : start + self.piece])
                if taken > limit:
                    raise MediaTooLarge(limit=limit)
                yield piece
        except GeneratorExit:
            self.left_early += 1
            raise


@dataclass(slots=True)
class PlainPictures:
    """The `Pictures` port that takes every picture as it is."""

    troubles: list[PictureError | Exception] = field(default_factory=list)
    seen: list[BlobRef] = field(default_factory=list)

    async def prepare(self, source: BlobRef) -> Picture:
        await anyio.lowlevel.checkpoint()
        self.seen.append(source)
        if self.troubles:
            raise self.troubles.pop(0)
        return Picture(content=source, mime_type="image/png", width=1, height=1)


@dataclass(slots=True, kw_only=True)
class MediaParts:
    """All that a gateway prepares media with."""

    blobs: MemoryBlobs
    server: FileServer = field(default_factory=FileServer)
    pictures: PlainPictures = field(default_factory=PlainPictures)
    transcriber: Transcriber | None = None
    limits: MediaLimits = field(default_factory=MediaLimits)
    features: ChannelFeatures = field(default_factory=ChannelFeatures)

    def preparer(
        self,
        sources: Mapping[ChannelName, MediaSource],
        *,
        queue: MediaQueue,
        clock: Clock,
        telemetry: Telemetry = UNHEARD,
    ) -> Preparer:
        caps = Caps(features=dict.fromkeys(sources, self.features), audio_bytes=self.limits.audio_bytes)
        return Preparer(
            queue=queue,
            fetch=FetchMedia(sources=sources, blobs=self.blobs, caps=caps, limits=self.limits),
            make=MakeMedia(
                blobs=self.blobs, pictures=self.pictures, transcriber=self.transcriber, limits=self.limits
            ),
            clock=clock,
            channels=sources,
            telemetry=telemetry,
        )


def declared(kind: AttachmentKind, facts: Mapping[str, object]) -> Mapping[str, object]:
    """The file as its channel might have called it wrongly."""
    return {**facts, "kind": kind.value}

"""The store of files in memory: as quick as a dictionary, and as strict as the one in a folder."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import anyio.lowlevel

from fermix.application.ports.blobs import BlobMissing, BlobsFull, BlobTooLarge
from fermix.application.ports.clock import Clock
from fermix.domain.blob import BlobRef

_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    content: bytes
    stored_at: datetime


class MemoryBlobs:
    """The `Blobs` port. Hand the same object to whoever shares a home."""

    def __init__(self, *, clock: Clock, max_bytes: int = 512 * 1024 * 1024) -> None:
        self._clock = clock
        self._max_bytes = max_bytes
        self._kept: dict[str, _Kept] = {}
        self._coming = 0

    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        """See `Blobs.store`."""
        came = bytearray()
        try:
            async for piece in content:
                if len(came) + len(piece) > limit:
                    raise BlobTooLarge(limit=limit)
                if self._held + self._coming + len(piece) > self._max_bytes:
                    raise BlobsFull("no more files may be kept: the store is full")
                came += piece
                self._coming += len(piece)
        finally:
            self._coming -= len(came)
        digest = hashlib.sha256(came).hexdigest()
        self._kept[digest] = _Kept(content=bytes(came), stored_at=self._clock.now())
        return BlobRef(digest=digest, size_bytes=len(came))

    @asynccontextmanager
    async def open(self, blob: BlobRef) -> AsyncGenerator[AsyncIterator[bytes]]:
        """See `Blobs.open`."""
        kept = self._kept.get(blob.digest)
        if kept is None or len(kept.content) != blob.size_bytes:
            raise BlobMissing("the file is not kept here any more")
        async with aclosing(_pieces(kept.content)) as pieces:
            yield pieces

    async def stale(self, *, before: datetime, limit: int) -> Sequence[str]:
        """See `Blobs.stale`."""
        await anyio.lowlevel.checkpoint()
        found = sorted(self._kept, key=lambda digest: self._kept[digest].stored_at)
        return [digest for digest in found if self._kept[digest].stored_at < before][:limit]

    async def remove(self, digest: str, *, before: datetime) -> bool:
        """See `Blobs.remove`."""
        await anyio.lowlevel.checkpoint()
        kept = self._kept.get(digest)
        if kept is None or kept.stored_at >= before:
            return False
        del self._kept[digest]
        return True

    @property
    def _held(self) -> int:
        return sum(len(kept.content) for kept in self._kept.values())


async def _pieces(content: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(content), _PIECE):
        await anyio.lowlevel.checkpoint()
        yield content[start : start + _PIECE]


async def in_pieces(*pieces: bytes) -> AsyncGenerator[bytes]:
    """A stream of these pieces, to store them."""
    for piece in pieces:
        await anyio.lowlevel.checkpoint()
        yield piece

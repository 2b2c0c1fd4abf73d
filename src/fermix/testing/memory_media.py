"""Files and reactions of the platform in memory."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from types import MappingProxyType
from typing import Protocol

import anyio.lowlevel

from fermix.application.ports.channel import ChannelRejected
from fermix.application.ports.fetching import within
from fermix.domain.caps import MediaCap
from fermix.domain.delivery import MediaKind
from fermix.domain.reactions import SomeReactions

PIECE = 1024
"""Bytes of a file that are handed out at once."""

MAX_FILE = 64 * 1024

MEDIA_OUT: Mapping[MediaKind, MediaCap] = MappingProxyType(
    {
        MediaKind.IMAGE: MediaCap(max_bytes=MAX_FILE, max_caption=200),
        MediaKind.DOCUMENT: MediaCap(max_bytes=MAX_FILE, max_caption=200),
        MediaKind.VOICE: MediaCap(max_bytes=MAX_FILE),
    }
)
"""Some kinds, one of them without captions: what a platform may be like."""

REACTIONS = SomeReactions(names=("👍", "🎉"))


class HandsOut(Protocol):
    """A platform that hands out what people sent."""

    def hand_out(self, reference: str) -> AsyncGenerator[bytes]:
        """The bytes of a file, piece by piece; raises `ChannelError`."""
        ...


class SentFiles:
    """What people have sent, by the reference that fetches it."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    def add(self, content: bytes) -> str:
        """Keep a file; its reference."""
        reference = f"file-{len(self._files) + 1}"
        self._files[reference] = content
        return reference

    async def pieces(self, reference: str) -> AsyncGenerator[bytes]:
        """A file, piece by piece.

        Raises:
            ChannelRejected: nobody has sent it.
        """
        await anyio.lowlevel.checkpoint()
        if reference not in self._files:
            raise ChannelRejected("there is no such file")
        content = self._files[reference]
        for start in range(0, len(content), PIECE):
            await anyio.lowlevel.checkpoint()
            yield content[start : start + PIECE]


class MemoryMedia:
    """The `MediaSource` port over a platform in memory."""

    def __init__(self, platform: HandsOut) -> None:
        self._platform = platform

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        """See `MediaSource.fetch`."""
        async with (
            aclosing(self._platform.hand_out(reference)) as pieces,
            aclosing(within(pieces, limit=limit)) as counted,
        ):
            yield counted

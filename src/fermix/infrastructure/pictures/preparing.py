"""The `Pictures` port: files of the store, decoded elsewhere, and stored again."""

from collections.abc import AsyncGenerator, AsyncIterator

import anyio

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.pictures import PictureTooLarge
from fermix.domain.blob import BlobRef
from fermix.domain.picture import Picture
from fermix.infrastructure.pictures.decoding import PictureFile, decode
from fermix.infrastructure.pictures.formats import recognise
from fermix.infrastructure.pictures.limits import LIMITS, MIB, Limits
from fermix.infrastructure.system.child_python import Launch


class DecodedPictures:
    """Decodes one picture at a time, so that `Limits.memory_bytes` bounds all of them; others wait."""

    def __init__(self, *, blobs: Blobs, launch: Launch, limits: Limits = LIMITS) -> None:
        self._blobs = blobs
        self._launch = launch
        self._limits = limits
        self._turn = anyio.Lock()

    async def prepare(self, source: BlobRef) -> Picture:
        """See `Pictures.prepare`."""
        if source.size_bytes > self._limits.source_bytes:
            raise PictureTooLarge(
                f"the file has {source.size_bytes / MIB:.1f} MiB, more than {self._limits.source_bytes // MIB}",
                limit=self._limits.source_bytes,
            )
        async with self._turn, self._blobs.open(source) as pieces:
            first = await anext(pieces, b"")
            file = PictureFile(form=recognise(first), size=source.size_bytes, pieces=_led_by(first, pieces))
            made = await decode(file, launch=self._launch, limits=self._limits)
        content = await self._blobs.store(_only(made.content), limit=self._limits.result_bytes)
        return Picture(content=content, mime_type=made.mime_type, width=made.width, height=made.height)


async def _led_by(first: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for piece in rest:
        yield piece


async def _only(content: bytes) -> AsyncGenerator[bytes]:
    yield content

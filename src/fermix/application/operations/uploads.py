"""Files from a terminal: kept whole before the question that they belong to is accepted."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from dataclasses import dataclass

from fermix.application.ports.blobs import Blobs, BlobsFull, BlobsUnavailable, BlobTooLarge
from fermix.application.ports.uploads import Upload, UploadRefused
from fermix.domain import upload_wording as wording
from fermix.domain.sniffing import HEAD_BYTES, attachment_kind, mime_type_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepUploads:
    """Puts files into the home's store. What no message names in the end is swept from there.

    Attributes:
        limit: the largest file, in bytes.
    """

    blobs: Blobs
    limit: int

    async def __call__(self, name: str, content: AsyncIterable[bytes], *, size: int) -> Upload:
        """Keep a file.

        Args:
            name: what its sender calls it.
            content: its bytes; its errors pass through, and whoever gives it closes it.
            size: how many bytes are to come, by its sender's word: the stream is measured in any case.

        Raises:
            UploadRefused: it is too large, there is no room, or the store cannot be used now.
        """
        if size > self.limit:
            raise UploadRefused(wording.too_large(self.limit), too_large=True)
        head = bytearray()
        try:
            async with aclosing(_with_head(content, head)) as pieces:
                blob = await self.blobs.store(pieces, limit=self.limit)
        except BlobTooLarge as exc:
            raise UploadRefused(wording.too_large(self.limit), too_large=True) from exc
        except BlobsFull as exc:
            raise UploadRefused(wording.DISK_FULL) from exc
        except BlobsUnavailable as exc:
            raise UploadRefused(wording.NOT_STORED) from exc
        mime_type = mime_type_of(bytes(head))
        return Upload(name=name, blob=blob, kind=attachment_kind(mime_type), mime_type=mime_type)


async def _with_head(content: AsyncIterable[bytes], head: bytearray) -> AsyncGenerator[bytes]:
    """The same stream, its first bytes noted in `head`."""
    async for piece in content:
        if len(head) < HEAD_BYTES:
            head += piece[: HEAD_BYTES - len(head)]
        yield piece

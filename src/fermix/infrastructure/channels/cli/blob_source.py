"""What hangs on messages from a terminal: the bytes were kept before the message was accepted."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from fermix.application.ports.blobs import BlobMissing, BlobsUnavailable, ReadsBlobs
from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable, MediaTooLarge
from fermix.domain.blob import referenced_blob


class BlobSource:
    """See the `MediaSource` port. A reference is `BlobRef.reference`; whatever else stands there names nothing."""

    def __init__(self, blobs: ReadsBlobs) -> None:
        self._blobs = blobs

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes of a kept file."""
        blob = referenced_blob(reference)
        if blob is None:
            raise ChannelRejected("nothing is kept under such a reference")
        if blob.size_bytes > limit:
            raise MediaTooLarge(limit=limit)
        try:
            async with self._blobs.open(blob) as pieces:
                yield pieces
        except BlobMissing as exc:
            raise ChannelRejected("the file is not kept here any more") from exc
        except BlobsUnavailable as exc:
            raise ChannelUnreachable("the file cannot be read just now") from exc

"""Files by their content: what came in with messages and what goes out with replies."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from fermix.domain.blob import BlobRef


class ReadsBlobs(Protocol):
    """What an adapter needs of the store to send a file."""

    def open(self, blob: BlobRef) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The file's bytes, piece by piece, while the block lasts; always exactly `blob.size_bytes` of them.

        Raises:
            BlobMissing: it is not here (any more), or not as it was.
            BlobsUnavailable: it cannot be read now.
        """
        ...


class Blobs(ReadsBlobs, Protocol):
    """A store of files for this user alone. Raises `BlobError` and what the given stream raises, nothing else.

    A file is kept under the digest of its bytes, so that what is the same is kept once, and no name from outside
    is ever one here. What is stored is there after a power cut. A file goes when no row of the ledger names it:
    whoever stores one commits its row within the hour that `stale` leaves alone.
    """

    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        """Keep a stream of bytes. On every other end than success, nothing is left of it.

        Args:
            content: its pieces, each of any length; whoever gives it closes it.
            limit: the most bytes that are taken; exactly so many still are.

        Raises:
            BlobTooLarge: there are more bytes than that; the rest was not asked for.
            BlobsFull: the store may not grow so much, or the disk is full.
            BlobsUnavailable: it cannot be written now.
        """
        ...

    async def stale(self, *, before: datetime, limit: int) -> Sequence[str]:
        """Digests of up to `limit` files that were stored for the last time before an instant, oldest first.

        Raises:
            BlobsUnavailable: the store cannot be read now.
        """
        ...

    async def remove(self, digest: str, *, before: datetime) -> bool:
        """Remove a file, unless it was stored again since `before`; whether it went.

        Raises:
            BlobsUnavailable: the store cannot be written now.
        """
        ...


class BlobNames(Protocol):
    """The ledger's word on which files are still needed. Raises `LedgerError` and nothing else."""

    async def named(self, digests: Sequence[str]) -> frozenset[str]:
        """Those of these that a row names.

        Such a row is an attachment that was fetched, a part that holds a file, or an entry with a picture in
        the present window of its conversation.
        """
        ...


class BlobError(Exception):
    """Base of all errors of the store; the text is for operators and holds no name from outside."""


class BlobTooLarge(BlobError):
    """The stream was longer than allowed."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"the file has more than {limit} bytes")
        self.limit = limit


class BlobMissing(BlobError):
    """No such file is here."""


class BlobsFull(BlobError):
    """There is no room for the file."""


class BlobsUnavailable(BlobError):
    """The store cannot be used now; trying again later may help."""

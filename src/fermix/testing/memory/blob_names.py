"""Which stored files the rows of the in-memory ledger still name."""

from collections.abc import Iterator, Sequence

from fermix.domain.delivery import MediaPart
from fermix.testing.memory.process import Process
from fermix.testing.memory.tables import Tables


class MemoryBlobNames:
    """The `BlobNames` port."""

    def __init__(self, *, process: Process) -> None:
        self._process = process

    async def named(self, digests: Sequence[str]) -> frozenset[str]:
        """See `BlobNames.named`."""
        asked = frozenset(digests)
        return await self._process.read(lambda tables: asked.intersection(_names(tables)))


def _names(tables: Tables) -> Iterator[str]:
    for part in tables.parts.values():
        if isinstance(part.body, MediaPart):
            yield part.body.blob.digest
    for media in tables.media.values():
        if media.prepared is not None and media.prepared.blob is not None:
            yield media.prepared.blob

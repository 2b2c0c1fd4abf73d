"""Which stored files the rows of the in-memory ledger still name."""

from collections.abc import Iterator, Sequence

from fermix.application.ports.turns import PreparedMedia
from fermix.domain.delivery import MediaPart
from fermix.domain.history import pictures_of
from fermix.domain.incoming_media import FileKept, PictureReady
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
    for row in tables.entries.values():
        if row.window == tables.lanes[row.lane].window:
            yield from (picture.digest for picture in pictures_of((row.entry,)))
    for media in tables.media.values():
        if media.fetched is not None:
            yield media.fetched.digest
        match media.prepared:
            case PreparedMedia(result=PictureReady(picture=picture)):
                yield picture.content.digest
            case PreparedMedia(result=FileKept(content=content)):
                yield content.digest

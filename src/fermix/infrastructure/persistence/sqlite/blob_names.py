"""Which stored files the ledger's rows still name."""

from collections.abc import Sequence

from fermix.infrastructure.persistence.sqlite.reader import Reader
from fermix.infrastructure.persistence.sqlite.transaction import Rows


class SqliteBlobNames:
    """The `BlobNames` port over the reader."""

    def __init__(self, *, reader: Reader) -> None:
        self._reader = reader

    async def named(self, digests: Sequence[str]) -> frozenset[str]:
        """See `BlobNames.named`."""
        asked = tuple(digests)
        return await self._reader.ask(lambda rows: frozenset(each for each in asked if _is_named(rows, each)))


def _is_named(rows: Rows, digest: str) -> bool:
    found = rows.row(
        "SELECT 1 FROM outbox WHERE blob=?1 UNION ALL SELECT 1 FROM media WHERE blob=?1 UNION ALL"
        " SELECT 1 FROM entry_pictures p JOIN entries e ON e.entry=p.entry JOIN lanes l ON l.lane=e.lane"
        " WHERE p.blob=?1 AND e.window=l.window LIMIT 1",
        digest,
    )
    return found is not None

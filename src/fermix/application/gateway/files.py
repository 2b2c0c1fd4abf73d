"""Letting stored files go that no row of the ledger names any more."""

from dataclasses import dataclass
from datetime import timedelta

from fermix.application.ports.blobs import BlobNames, Blobs
from fermix.application.ports.clock import Clock

NOT_YET_NAMED = timedelta(hours=1)
"""How long a file may be here before its row is committed."""

AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFiles:
    """A file goes with the last row that names it; it is looked for after the rows were swept."""

    blobs: Blobs
    names: BlobNames
    clock: Clock

    async def __call__(self) -> int:
        """Remove them all; how many went.

        A file that is stored again meanwhile stays; some that are old may be left for the next time.

        Raises:
            BlobError: the store cannot be used now.
            LedgerError: the ledger cannot be asked now.
        """
        before = self.clock.now() - NOT_YET_NAMED
        kept = removed = 0
        while fresh := (await self.blobs.stale(before=before, limit=kept + AT_ONCE))[kept:]:
            named = await self.names.named(fresh)
            gone = [
                digest
                for digest in fresh
                if digest not in named and await self.blobs.remove(digest, before=before)
            ]
            removed += len(gone)
            kept += len(fresh) - len(gone)
        return removed

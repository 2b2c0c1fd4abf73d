"""The ledger as one SQLite file: opened here, used through the ports it bundles."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread
from anyio.lowlevel import current_token

from fermix.application.ports.admissions import Admissions
from fermix.application.ports.blobs import BlobNames
from fermix.application.ports.clock import Clock, Ids
from fermix.application.ports.conversations import Conversations, QueueView
from fermix.application.ports.delegation import Delegation
from fermix.application.ports.media_queue import MediaQueue
from fermix.application.ports.outbox import Outbox
from fermix.application.ports.ownership import Ownership
from fermix.application.ports.turns import Turns
from fermix.domain.lane import QueueLimits
from fermix.infrastructure.persistence.sqlite.admissions import SqliteAdmissions
from fermix.infrastructure.persistence.sqlite.blob_names import SqliteBlobNames
from fermix.infrastructure.persistence.sqlite.connection import open_both
from fermix.infrastructure.persistence.sqlite.conversations import SqliteConversations, SqliteQueueView
from fermix.infrastructure.persistence.sqlite.delegation import SqliteDelegation
from fermix.infrastructure.persistence.sqlite.integrity import quick_check
from fermix.infrastructure.persistence.sqlite.media import SqliteMediaQueue
from fermix.infrastructure.persistence.sqlite.outbox import SqliteOutbox
from fermix.infrastructure.persistence.sqlite.ownership import SqliteOwnership
from fermix.infrastructure.persistence.sqlite.reader import Reader
from fermix.infrastructure.persistence.sqlite.turns import SqliteTurns
from fermix.infrastructure.persistence.sqlite.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteLedger:
    """The ledger's ports over one file. Each field may be replaced by another implementation of its port."""

    path: Path
    admissions: Admissions
    turns: Turns
    media: MediaQueue
    delegation: Delegation
    outbox: Outbox
    ownership: Ownership
    conversations: Conversations
    queue: QueueView
    blob_names: BlobNames

    async def quick_check(self) -> None:
        """Look for damage; run it beside a start that follows a reboot, never before being ready.

        Raises:
            LedgerDamaged: the file is damaged.
        """
        await quick_check(self.path)


@asynccontextmanager
async def open_ledger(
    path: Path, *, clock: Clock, ids: Ids, limits: QueueLimits, on_broken: Callable[[], None]
) -> AsyncGenerator[SqliteLedger]:
    """Open (or create) the ledger's file, with a thread that writes and one that reads, until the block ends.

    The home must be taken (`ownership.take`) before anything else is written. Leaving the block finishes
    what was queued.

    Args:
        path: the file; its folder must exist. It and its companions become readable by this user alone.
        clock: asked for the time of each transaction, in the writing thread.
        ids: asked for the nonces of parts, in the writing thread.
        limits: how much may wait.
        on_broken: called once, in the event loop, when the disk failed under a commit; the process must end.

    Raises:
        LedgerNotOpened: the file cannot be used; says which file, and why.
        LedgerUnavailable: it is locked, or there is no space to create it.
    """
    token = current_token()
    writing, reading = await to_thread.run_sync(open_both, path)
    writer = Writer(writing, token=token, clock=clock, ids=ids, on_broken=on_broken)
    reader = Reader(reading, token=token)
    writer.start()
    reader.start()
    try:
        yield SqliteLedger(
            path=path,
            admissions=SqliteAdmissions(writer=writer, limits=limits),
            turns=SqliteTurns(writer=writer),
            media=SqliteMediaQueue(writer=writer, reader=reader),
            delegation=SqliteDelegation(writer=writer, limits=limits),
            outbox=SqliteOutbox(writer=writer),
            ownership=SqliteOwnership(writer=writer),
            conversations=SqliteConversations(reader=reader),
            queue=SqliteQueueView(reader=reader),
            blob_names=SqliteBlobNames(reader=reader),
        )
    finally:
        # The reader first: the last connection to close brings the log into the file.
        await reader.aclose()
        await writer.aclose()

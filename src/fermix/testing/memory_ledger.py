"""The ledger in memory: the dullest model that keeps all promises of the ledger's ports, death included.

It stands in for the real ledger where a test needs one that is quick to open, and it is what a ledger adapter
is compared with. It forgets everything with the object, copies its tables for every transaction and answers
by looking at every row: for tests, not for use.
"""

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
from fermix.testing.memory.admissions import MemoryAdmissions
from fermix.testing.memory.blob_names import MemoryBlobNames
from fermix.testing.memory.delegation import MemoryDelegation
from fermix.testing.memory.media import MemoryMediaQueue
from fermix.testing.memory.outbox import MemoryOutbox
from fermix.testing.memory.ownership import MemoryOwnership
from fermix.testing.memory.process import MemoryDisk, Process
from fermix.testing.memory.reading import MemoryConversations, MemoryQueueView
from fermix.testing.memory.turns import MemoryTurns


class MemoryLedger:
    """All ports of the ledger over one disk in memory, as one process holds them; asyncio and trio.

    Several ledgers over one disk are several processes: the one that took the home last owns it.

    Attributes:
        disk: what outlives this process; hand it to the next one.
        admissions: the way in.
        turns: claims, effects, settlement.
        media: attachments to be prepared.
        delegation: handing work on.
        outbox: the way out.
        ownership: taking the home, recovery, sweeping.
        conversations: history.
        queue: how the queue stands.
        blob_names: which stored files are still named.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        ids: Ids,
        limits: QueueLimits | None = None,
        disk: MemoryDisk | None = None,
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._limits = limits if limits is not None else QueueLimits()
        self.disk = disk if disk is not None else MemoryDisk()
        self._process = Process(disk=self.disk, clock=clock, ids=ids)
        self.admissions: Admissions = MemoryAdmissions(process=self._process, limits=self._limits)
        self.turns: Turns = MemoryTurns(process=self._process)
        self.media: MediaQueue = MemoryMediaQueue(process=self._process)
        self.delegation: Delegation = MemoryDelegation(process=self._process, limits=self._limits)
        self.outbox: Outbox = MemoryOutbox(process=self._process)
        self.ownership: Ownership = MemoryOwnership(process=self._process)
        self.conversations: Conversations = MemoryConversations(process=self._process)
        self.queue: QueueView = MemoryQueueView(process=self._process)
        self.blob_names: BlobNames = MemoryBlobNames(process=self._process)

    def kill(self) -> None:
        """End this process between two calls, as SIGKILL would: every finished commit stays on the disk.

        From now on its ports raise `LedgerUnavailable`.
        """
        self._process.end()

    def power_cut(self, *, keep: int = 0) -> None:
        """End this process and lose the newest lazy commits.

        Args:
            keep: how many of the commits made after the last durable one survive, oldest first; see
                `MemoryDisk.unsynced` for how many there are.
        """
        self._process.end()
        self.disk.cut_power(keep=keep)

    def reopened(self) -> "MemoryLedger":
        """The ledger of the next process over the same disk; it must take the home before it writes."""
        return MemoryLedger(clock=self._clock, ids=self._ids, limits=self._limits, disk=self.disk)

"""What the ledger's suites need to know of an adapter: how to open its ledger, and how to let it die."""

from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Protocol

from fermix.application.ports.admissions import Admissions
from fermix.application.ports.blobs import BlobNames
from fermix.application.ports.conversations import Conversations, QueueView
from fermix.application.ports.delegation import Delegation
from fermix.application.ports.media_queue import MediaQueue
from fermix.application.ports.outbox import Outbox
from fermix.application.ports.ownership import Ownership
from fermix.application.ports.turns import Turns
from fermix.domain.lane import QueueLimits
from fermix.testing.clock import StoppedClock


class OpenLedger(Protocol):
    """The ports of one ledger, as one process holds them."""

    @property
    def admissions(self) -> Admissions:
        """The way in."""
        ...

    @property
    def turns(self) -> Turns:
        """The middle."""
        ...

    @property
    def media(self) -> MediaQueue:
        """Attachments to be prepared."""
        ...

    @property
    def delegation(self) -> Delegation:
        """What a running turn hands on."""
        ...

    @property
    def outbox(self) -> Outbox:
        """The way out."""
        ...

    @property
    def ownership(self) -> Ownership:
        """Who owns the home."""
        ...

    @property
    def conversations(self) -> Conversations:
        """What is remembered."""
        ...

    @property
    def queue(self) -> QueueView:
        """How the queue stands."""
        ...

    @property
    def blob_names(self) -> BlobNames:
        """Which stored files are still named."""
        ...


class LedgerHarness(Protocol):
    """One home, at first empty, whose ledger can be opened, and whose processes can die.

    A death happens between two calls of the ports: a process that dies inside one leaves the state before or
    after it, and the suites try both.
    """

    @property
    def clock(self) -> StoppedClock:
        """The time of every ledger opened here."""
        ...

    def open(self, *, limits: QueueLimits | None = None) -> AbstractAsyncContextManager[OpenLedger]:
        """The ledger as a process finds it that has just started and not yet taken the home.

        Opened while another is open, it is a second process over the same home.
        """
        ...

    async def kill(self) -> None:
        """Every process with an open ledger dies as by SIGKILL; what `open` finds next is what they left.

        The blocks that hold the dead ledgers are left by the caller, who uses these no more.
        """
        ...

    async def cut_power(self, chance: Random | None = None) -> None:
        """As `kill`, and what was not synced is lost: all of it, or with `chance` as much as it picks."""
        ...

    async def cursor(self, origin: str, scope: str) -> str | None:
        """The cursor that was committed last, as it stands on disk."""
        ...

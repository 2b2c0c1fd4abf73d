"""The ledger's list of attachments that must be prepared before their turns can start."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from fermix.application.ports.turns import PreparedMedia
from fermix.domain.authorization import Trust
from fermix.domain.blob import BlobRef
from fermix.domain.ids import ChannelName, LaneId, MessageRow, TurnId
from fermix.domain.message import Attachment, InboundMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPlace:
    """An attachment: the `position`-th of a message."""

    row: MessageRow
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMedia:
    """An attachment that is still to be prepared.

    Attributes:
        turn: waits for it.
        lane: the conversation that the turn holds.
        channel: what fetches it.
        reference: fetches it, also after a restart.
        attempts: how often work on it was begun so far.
        fetched: its bytes, when they are here already.
        trust: its message was admitted with.
        message: carries it; as it reads now, when it was edited.
    """

    place: MediaPlace
    turn: TurnId
    lane: LaneId
    channel: ChannelName
    reference: str
    attempts: int
    trust: Trust
    message: InboundMessage
    fetched: BlobRef | None = None

    @property
    def attachment(self) -> Attachment:
        """What its message says of it."""
        return self.message.attachments[self.place.position]


class MediaQueue(Protocol):
    """Raises `LedgerError` and nothing else. A call that was begun is finished even when it is cancelled."""

    async def waiting(self, *, channels: Collection[ChannelName], limit: int) -> tuple[WaitingMedia, ...]:
        """Up to `limit` attachments that wait, of turns that wait on these channels.

        They come in rounds: the oldest of each conversation, then the second oldest of each, and so on, so that
        no conversation fills the list; within a round, the oldest first.
        """
        ...

    async def begin(self, place: MediaPlace) -> bool:
        """Count an attempt before its work starts: what kills the process is counted too.

        Returns:
            False, with nothing counted, when nobody waits for it any more: stopped, or prepared already.
        """
        ...

    async def fetched(self, place: MediaPlace, content: BlobRef | None) -> None:
        """Note that its bytes are here, so that they are not fetched again, or are gone; it still waits."""
        ...

    async def prepared(self, row: MessageRow, media: PreparedMedia) -> None:
        """Record what became of an attachment; with the last one its turn can be claimed.

        The first result stays. Stored bytes that it does not name are needed no more.
        """
        ...

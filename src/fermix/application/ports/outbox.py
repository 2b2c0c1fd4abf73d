"""The ledger's way out: parts that are committed and not yet known to be delivered."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from fermix.domain.delivery import Part, RetryAt
from fermix.domain.ids import ChannelName, ChatId, PartId, PlatformMessageId, TurnId
from fermix.domain.route import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingPart:
    """A part whose row says `sending`: its sender must call `done` with what became of it.

    Attributes:
        turn: the turn it answers; `None` for a command's reply or a notice.
        nonce: the same for every try of this part.
        repeated: an earlier try may have arrived.
        attempts: counted tries before this one.
        created_at: when it was committed.
        tried_at: when its first try began; `None` before the first.
        target_gone: the platform said lately that the chat is none of ours any more, and nobody wrote there
            since: it is to end without being sent.
    """

    part: PartId
    turn: TurnId | None
    ordinal: int
    target: Target
    body: Part
    nonce: str
    created_at: datetime
    tried_at: datetime | None = None
    repeated: bool = False
    attempts: int = 0
    target_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The platform took it.

    Attributes:
        moved_to: where it arrived when the chat of its target has another id by now.
    """

    platform_id: PlatformMessageId | None = None
    moved_to: ChatId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDelivered:
    """It will not be tried again; `error` is the operator's cause, without text or secrets.

    Attributes:
        target_gone: the platform said just now that the chat is none of ours any more.
    """

    error: str
    target_gone: bool = False


PartEnd: TypeAlias = Sent | NotDelivered | RetryAt


@dataclass(frozen=True, slots=True, kw_only=True)
class DueParts:
    """Parts to send now, and when the next one becomes due."""

    parts: tuple[SendingPart, ...]
    next_due: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftDraft:
    """A draft that stands in a chat although its turn is over, and that nothing will take the place of."""

    target: Target
    draft: PlatformMessageId


class Outbox(Protocol):
    """Raises `LedgerError` and nothing else."""

    async def due(self, *, channels: Collection[ChannelName], limit: int) -> DueParts:
        """Mark the oldest due part of each target without one on its way as `sending`, durably.

        At most one part of a target is on its way at a time; an older open part of the target holds the
        younger ones, also while it waits for a retry.
        """
        ...

    async def left_drafts(self, *, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
        """The drafts that were noted for turns which others than their own task have ended: a command, a recovery.

        Of turns that an earlier owner had claimed only: what this one has claimed, its own task clears up. Each
        is handed out once, and whoever asks removes it; a death in between leaves it standing.
        """
        ...

    async def done(self, part: PartId, end: PartEnd) -> SendingPart | None:
        """Record what became of a part; the target's next part becomes `sending` in the same commit.

        A part that was withdrawn meanwhile stays withdrawn; what stood behind it starts all the same.
        A part that arrived elsewhere (`Sent.moved_to`) moves its chat in the same commit, as
        `Admissions.move_chat` does.
        A chat that is gone (`NotDelivered.target_gone`) is remembered as such, for `GONE_FOR` or until somebody
        writes there; what is started for it meanwhile says so.
        `RetryAt.counts` adds one to its counted tries and marks it as possibly repeated.
        """
        ...

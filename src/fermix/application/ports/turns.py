"""The ledger's middle: claiming turns, journalling their effects, and settling them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fermix.application.ports.outbox import SendingPart
from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.delivery import Part
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import ChannelName, Generation, LaneId, MessageRow, PlatformMessageId, TurnId
from fermix.domain.incoming_media import MediaResult
from fermix.domain.message import InboundMessage
from fermix.domain.recovery import Repeat
from fermix.domain.route import Route, Target
from fermix.domain.turn import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedMedia:
    """What preparation made of one attachment of a message."""

    position: int
    result: MediaResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedMessage:
    """One message of a claimed turn, with the trust it was admitted with, and its media by position."""

    row: MessageRow
    message: InboundMessage
    target: Target
    trust: Trust
    media: tuple[PreparedMedia, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTurn:
    """A turn this process runs now.

    Attributes:
        generation: fences what this claim writes later.
        attempts: claims so far, this one included.
        window: the history window it reads and writes, also when `/new` opens another meanwhile.
        scope: the lowest of its messages' scopes.
        messages: at least one, in order of arrival; the parts of an album as `album_order` has it.
        drafts: platform ids of drafts an earlier claim left behind, the newest last, to be adopted.
    """

    turn: TurnId
    lane: LaneId
    route: Route
    generation: Generation
    attempts: int
    window: int
    scope: Scope
    awaited: bool
    messages: tuple[ClaimedMessage, ...]
    drafts: tuple[PlatformMessageId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Turns claimed now, and when an album stops waiting next (look again then)."""

    turns: tuple[ClaimedTurn, ...]
    next_due: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectIntent:
    """A call about to run that a repeat would do twice.

    Attributes:
        step: counts the effects of this claim from 0.
        part: set when the effect is a part sent in mid-turn; it becomes `sending` in the same commit and
            its end writes the effect's outcome. Of a `HARMLESS` effect nothing but this part is committed.
    """

    turn: TurnId
    generation: Generation
    step: int
    name: str
    repeat: Repeat
    intent: str
    part: Part | None = None
    target: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How a turn ends; everything in it commits together.

    Attributes:
        entries: all history rows of the turn (user, tools, assistant), into the claim's window.
        parts: the reply, in order; may be empty.
        keep_bodies: keep the messages' payloads for `/retry` (failed turns).
    """

    turn: TurnId
    generation: Generation
    outcome: Outcome
    target: Target
    entries: tuple[HistoryEntry, ...] = ()
    parts: tuple[Part, ...] = ()
    keep_bodies: bool = False


class Turns(Protocol):
    """Raises `LedgerError` and nothing else. A call that was begun is finished even when it is cancelled."""

    async def claim(self, *, limit: int, channels: Collection[ChannelName]) -> Claims:
        """Start up to `limit` heads of lanes of the served channels; attempts go up by one.

        When more lanes could start than there are slots, those served least recently are chosen, so that a
        conversation with much waiting does not starve the others; the chosen start oldest first.
        """
        ...

    async def begin_effect(self, effect: EffectIntent) -> SendingPart | None:
        """Journal an intent durably before the call runs; returns the part to send now, when it is one.

        A part behind an older open one of its target is committed and leaves in its turn.

        Raises:
            StaleTurn: the turn was stopped; the call must not run.
        """
        ...

    async def end_effect(self, turn: TurnId, *, generation: Generation, step: int, outcome: str) -> None:
        """Journal what the call did.

        Raises:
            StaleTurn: the turn was stopped meanwhile.
        """
        ...

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        """End a turn durably; returns the parts to send now (the first, unless an older one is open).

        Raises:
            StaleTurn: the turn was stopped meanwhile; nothing is written and nothing must be delivered.
        """
        ...

    async def release(self, turn: TurnId, *, generation: Generation) -> bool:
        """Give a started turn back to its place in the queue (drain); the attempt is taken back.

        Returns:
            False, with nothing changed, when it has journalled effects (drafts aside) or is awaited.

        Raises:
            StaleTurn: it is no longer this claim's.
        """
        ...

    async def cancel(self, turn: TurnId) -> bool:
        """End one turn because its asker left: waiting → cancelled; started → interrupted with a marker.

        Returns:
            Whether it was still waiting or started.
        """
        ...

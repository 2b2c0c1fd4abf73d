"""The rows of the in-memory ledger: frozen values in dictionaries, and questions about them by looking at all."""

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from fermix.application.ports.turns import PreparedMedia
from fermix.domain.authorization import Trust
from fermix.domain.blob import BlobRef
from fermix.domain.capability import Scope
from fermix.domain.delivery import Part
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import (
    ChannelName,
    Epoch,
    Generation,
    LaneId,
    MessageRow,
    PartId,
    PlatformMessageId,
    TurnId,
)
from fermix.domain.lane import LaneTurn, album_order
from fermix.domain.message import InboundMessage
from fermix.domain.recovery import Repeat
from fermix.domain.route import Route, Target
from fermix.domain.turn import WAITING, MessageKind, Outcome, PartState, TurnState

OPEN = frozenset({PartState.PENDING, PartState.SENDING})
"""Parts in these states hold the younger parts of their target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRow:
    """Who owns the home."""

    epoch: Epoch
    instance: str
    boot: str
    clean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRow:
    """A conversation; `served` is the number of its last claim, over all lanes."""

    lane: LaneId
    route: Route
    generation: Generation
    window: int = 0
    served: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn; `epoch`, `generation` and `window` are those of its last claim."""

    turn: TurnId
    lane: LaneId
    channel: ChannelName
    state: TurnState
    epoch: Epoch
    scope: Scope
    awaited: bool = False
    outcome: Outcome | None = None
    album: str | None = None
    collect_until: datetime | None = None
    attempts: int = 0
    generation: Generation | None = None
    window: int | None = None
    settled_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """An accepted message; `body` is `None` once it was let go."""

    row: MessageRow
    origin: str
    key: str
    digest: bytes
    lane: LaneId
    kind: MessageKind
    trust: Trust
    epoch: Epoch
    received_at: datetime
    sender: str
    body: InboundMessage | None
    turn: TurnId | None = None
    target: Target | None = None
    edited_at: datetime | None = None
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRow:
    """An attachment to be prepared; `prepared` says what became of it."""

    row: MessageRow
    position: int
    reference: str
    attempts: int = 0
    fetched: BlobRef | None = None
    prepared: PreparedMedia | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """A journalled call of one claim."""

    turn: TurnId
    generation: Generation
    step: int
    name: str
    repeat: Repeat
    intent: str
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """An outgoing part; `generation` and `step` name the effect whose outcome its end writes."""

    part: PartId
    turn: TurnId | None
    ordinal: int
    notice: str | None
    target: Target
    body: Part
    nonce: str
    state: PartState
    due_at: datetime
    created_at: datetime
    repeated: bool = False
    attempts: int = 0
    tried_at: datetime | None = None
    epoch: Epoch | None = None
    platform_id: PlatformMessageId | None = None
    error: str | None = None
    generation: Generation | None = None
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """A line of history."""

    lane: LaneId
    window: int
    turn: TurnId | None
    entry: HistoryEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow:
    """A chat that has another id by now; `waiting`: some of its conversations are still to be joined."""

    old: Route
    new: Route
    waiting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneRow:
    """A chat that is none of ours any more, as its platform said."""

    chat: Route
    error: str
    since: datetime


def chat_of(target: Target) -> Route:
    """The chat of a place, threads aside."""
    return replace(Route.parse(target.key), thread=None)


@dataclass(slots=True, kw_only=True)
class Tables:
    """Everything the ledger remembers. Rows are replaced, never changed, so a shallow copy is a snapshot."""

    owner: OwnerRow | None = None
    lanes: dict[LaneId, LaneRow] = field(default_factory=dict)
    routes: dict[str, LaneId] = field(default_factory=dict)
    turns: dict[TurnId, TurnRow] = field(default_factory=dict)
    messages: dict[MessageRow, StoredMessage] = field(default_factory=dict)
    keys: dict[tuple[str, str], MessageRow] = field(default_factory=dict)
    media: dict[tuple[MessageRow, int], MediaRow] = field(default_factory=dict)
    effects: dict[tuple[TurnId, Generation, int], EffectRow] = field(default_factory=dict)
    parts: dict[PartId, PartRow] = field(default_factory=dict)
    entries: dict[int, EntryRow] = field(default_factory=dict)
    moves: dict[str, MoveRow] = field(default_factory=dict)
    gone: dict[str, GoneRow] = field(default_factory=dict)
    cursors: dict[tuple[str, str], str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "Tables":
        """The same rows in dictionaries of their own."""
        return Tables(**{each.name: _copied(getattr(self, each.name)) for each in fields(self)})

    def next(self, name: str) -> int:
        """The next number of a kind; a number once given is never given again."""
        self.counts[name] = self.counts.get(name, 0) + 1
        return self.counts[name]

    def turns_of(self, lane: LaneId) -> list[TurnRow]:
        """The turns of a lane, oldest first."""
        return [turn for turn in self.turns.values() if turn.lane == lane]

    def messages_of(self, turn: TurnId) -> list[StoredMessage]:
        """The messages of a turn, in order of arrival."""
        return [message for message in self.messages.values() if message.turn == turn]

    def read_in_order(self, turn: TurnId) -> list[StoredMessage]:
        """The messages of a turn, in the order in which they are read."""
        arrived = self.messages_of(turn)
        return [arrived[place] for place in album_order([message.body for message in arrived])]

    def drafts_of(self, turn: TurnId) -> tuple[PlatformMessageId, ...]:
        """The drafts that claims of a turn have opened so far, the newest last."""
        found = (
            effect.outcome
            for effect in self.effects.values()
            if effect.turn == turn and effect.repeat is Repeat.ADOPT
        )
        return tuple(dict.fromkeys(PlatformMessageId(draft) for draft in found if draft is not None))

    def waiting(self, lane: LaneId | None = None) -> int:
        """How many messages wait, in one lane or in all."""
        turns = {
            turn.turn
            for turn in self.turns.values()
            if turn.state in WAITING and (lane is None or turn.lane == lane)
        }
        return sum(message.turn in turns for message in self.messages.values())

    def seen_by_lane(self, turn: TurnRow) -> LaneTurn:
        """A turn as the rule of the lane wants it."""
        rows = {message.row for message in self.messages_of(turn.turn)}
        waits = any(each.row in rows and each.prepared is None for each in self.media.values())
        return LaneTurn(turn=turn.turn, state=turn.state, media_waiting=waits)

    def find_lane(self, route: Route) -> LaneId | None:
        """The lane a route leads to, also when its chat has another id by now."""
        known = self.routes.get(route.key)
        return known if known is not None else self.routes.get(self.current_route(route).key)

    def current_route(self, route: Route) -> Route:
        """The route as its chat is called now."""
        moved = self.moves.get(replace(route, thread=None).key)
        return route if moved is None else replace(route, chat=moved.new.chat)

    def current_target(self, target: Target) -> Target:
        """The place as its chat is called now; one that has moved points at no message any more."""
        moved = self.moves.get(replace(Route.parse(target.key), thread=None).key)
        return target if moved is None else replace(target, chat=moved.new.chat, reply_to=None)

    def lane_of(self, route: Route) -> LaneRow:
        """The lane a route leads to; a new one when there is none."""
        known = self.find_lane(route)
        if known is None:
            route = self.current_route(route)
            known = LaneId(self.next("lane"))
            self.routes[route.key] = known
            self.lanes[known] = LaneRow(lane=known, route=route, generation=Generation(0))
        return self.lanes[known]

    def next_ordinal(self, turn: TurnId) -> int:
        """The number the next part of a turn gets."""
        return max((part.ordinal + 1 for part in self.parts.values() if part.turn == turn), default=0)

    def head_of(self, target_key: str) -> PartRow | None:
        """The oldest open part of a target."""
        return next(
            (part for part in self.parts.values() if part.target.key == target_key and part.state in OPEN),
            None,
        )


def _copied(value: object) -> Any:
    return value.copy() if isinstance(value, dict) else value

"""Reading what conversations remember, and how the queue stands. Never writes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fermix.application.ports.ownership import PausedTurn
from fermix.application.ports.queue_listing import QueueListing
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import ChannelName, LaneId, MessageRow, TurnId
from fermix.domain.route import Route
from fermix.domain.turn import Outcome, TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary:
    """One conversation; `last_at` is when its newest message came."""

    lane: LaneId
    route: Route
    window: int
    title: str | None
    waiting: int
    active: TurnState | None
    last_at: datetime | None


class Conversations(Protocol):
    """Raises `LedgerError` and nothing else."""

    async def history(self, lane: LaneId, *, window: int, limit: int = 1000) -> tuple[HistoryEntry, ...]:
        """The newest `limit` entries of a window, oldest first."""
        ...

    async def lane_of(self, route: Route) -> LaneId | None:
        """The conversation a route leads to, when there is one."""
        ...

    async def summaries(self, *, limit: int = 100) -> tuple[ConversationSummary, ...]:
        """Conversations, newest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """How much is where; `waiting` counts messages, `lanes` those with an unsettled turn."""

    waiting: int
    running: int
    paused: int
    lanes: int
    open_parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStatus:
    """Where an admitted message stands."""

    row: MessageRow
    turn: TurnId | None
    state: TurnState | None
    outcome: Outcome | None
    channel: ChannelName


class QueueView(Protocol):
    """Raises `LedgerError` and nothing else."""

    async def counts(self) -> QueueCounts:
        """The queue in numbers, over all channels."""
        ...

    async def find(self, *, origin: str, key: str) -> MessageStatus | None:
        """The message a client asks about after a restart."""
        ...

    async def paused(self) -> tuple[PausedTurn, ...]:
        """Turns that wait for their owner, oldest first."""
        ...

    async def listing(self, *, limit: int = 200) -> QueueListing:
        """The queue line by line, over all channels; at most `limit` lines of each kind."""
        ...

    async def cursor(self, *, origin: str, scope: str) -> str | None:
        """How far a pull transport has read, as `CursorMove` committed it last; `None` when it never did."""
        ...

"""Reading the in-memory ledger: what conversations remember, and how the queue stands."""

from fermix.application.ports.conversations import ConversationSummary, MessageStatus, QueueCounts
from fermix.application.ports.ownership import PausedTurn
from fermix.application.ports.queue_listing import QueueListing
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import Generation, LaneId, MessageRow
from fermix.domain.route import Route
from fermix.domain.turn import ACTIVE, TurnState
from fermix.testing.memory.listing import list_queue
from fermix.testing.memory.process import Process
from fermix.testing.memory.tables import OPEN, LaneRow, Tables


class MemoryConversations:
    """The `Conversations` port."""

    def __init__(self, *, process: Process) -> None:
        self._process = process

    async def history(self, lane: LaneId, *, window: int, limit: int = 1000) -> tuple[HistoryEntry, ...]:
        """See `Conversations.history`."""
        return await self._process.read(lambda tables: _history(tables, lane, window, limit))

    async def lane_of(self, route: Route) -> LaneId | None:
        """See `Conversations.lane_of`."""
        return await self._process.read(lambda tables: tables.find_lane(route))

    async def summaries(self, *, limit: int = 100) -> tuple[ConversationSummary, ...]:
        """See `Conversations.summaries`."""
        return await self._process.read(lambda tables: _summaries(tables, limit))


class MemoryQueueView:
    """The `QueueView` port."""

    def __init__(self, *, process: Process) -> None:
        self._process = process

    async def counts(self) -> QueueCounts:
        """See `QueueView.counts`."""
        return await self._process.read(_counts)

    async def find(self, *, origin: str, key: str) -> MessageStatus | None:
        """See `QueueView.find`."""
        return await self._process.read(lambda tables: _find(tables, origin, key))

    async def paused(self) -> tuple[PausedTurn, ...]:
        """See `QueueView.paused`."""
        return await self._process.read(_paused)

    async def listing(self, *, limit: int = 200) -> QueueListing:
        """See `QueueView.listing`."""
        return await self._process.read(lambda tables: list_queue(tables, limit=limit))

    async def cursor(self, *, origin: str, scope: str) -> str | None:
        """See `QueueView.cursor`."""
        return await self._process.read(lambda tables: tables.cursors.get((origin, scope)))


def _history(tables: Tables, lane: LaneId, window: int, limit: int) -> tuple[HistoryEntry, ...]:
    whole = [row.entry for row in tables.entries.values() if row.lane == lane and row.window == window]
    return tuple(whole[max(len(whole) - limit, 0) :])


def _summaries(tables: Tables, limit: int) -> tuple[ConversationSummary, ...]:
    newest = {message.lane: message.row for message in tables.messages.values()}
    lanes = sorted(
        tables.lanes.values(), key=lambda lane: (newest.get(lane.lane, 0), lane.lane), reverse=True
    )
    return tuple(_summary(tables, lane, newest.get(lane.lane)) for lane in lanes[:limit])


def _summary(tables: Tables, lane: LaneRow, newest: MessageRow | None) -> ConversationSummary:
    active = (turn.state for turn in tables.turns_of(lane.lane) if turn.state in ACTIVE)
    return ConversationSummary(
        lane=lane.lane,
        route=lane.route,
        window=lane.window,
        title=None,
        waiting=tables.waiting(lane.lane),
        active=next(active, None),
        last_at=None if newest is None else tables.messages[newest].received_at,
    )


def _counts(tables: Tables) -> QueueCounts:
    states = [turn.state for turn in tables.turns.values()]
    return QueueCounts(
        waiting=tables.waiting(),
        running=states.count(TurnState.STARTED),
        paused=states.count(TurnState.UNKNOWN),
        lanes=len({turn.lane for turn in tables.turns.values() if turn.state is not TurnState.SETTLED}),
        open_parts=sum(part.state in OPEN for part in tables.parts.values()),
    )


def _find(tables: Tables, origin: str, key: str) -> MessageStatus | None:
    row = tables.keys.get((origin, key))
    if row is None:
        return None
    message = tables.messages[row]
    turn = None if message.turn is None else tables.turns[message.turn]
    return MessageStatus(
        row=row,
        turn=message.turn,
        state=None if turn is None else turn.state,
        outcome=None if turn is None else turn.outcome,
        channel=tables.lanes[message.lane].route.channel,
    )


def _paused(tables: Tables) -> tuple[PausedTurn, ...]:
    return tuple(
        PausedTurn(turn=turn.turn, lane=turn.lane, generation=turn.generation or Generation(0))
        for turn in tables.turns.values()
        if turn.state is TurnState.UNKNOWN
    )

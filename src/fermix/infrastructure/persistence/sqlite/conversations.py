"""Reading what conversations remember, and how the queue stands; over the read-only connection."""

from fermix.application.ports.conversations import ConversationSummary, MessageStatus, QueueCounts
from fermix.application.ports.ownership import PausedTurn
from fermix.application.ports.queue_listing import QueueListing
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import ChannelName, Generation, LaneId, MessageRow, TurnId
from fermix.domain.route import Route
from fermix.domain.turn import Outcome, TurnState
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.listing import list_queue
from fermix.infrastructure.persistence.sqlite.reader import Reader
from fermix.infrastructure.persistence.sqlite.rows import find_lane
from fermix.infrastructure.persistence.sqlite.transaction import Rows


class SqliteConversations:
    """The `Conversations` port over the reader."""

    def __init__(self, *, reader: Reader) -> None:
        self._reader = reader

    async def history(self, lane: LaneId, *, window: int, limit: int = 1000) -> tuple[HistoryEntry, ...]:
        """See `Conversations.history`."""
        return await self._reader.ask(lambda rows: _history(rows, lane, window=window, limit=limit))

    async def lane_of(self, route: Route) -> LaneId | None:
        """See `Conversations.lane_of`."""
        return await self._reader.ask(lambda rows: find_lane(rows, route))

    async def summaries(self, *, limit: int = 100) -> tuple[ConversationSummary, ...]:
        """See `Conversations.summaries`."""
        return await self._reader.ask(lambda rows: _summaries(rows, limit=limit))


class SqliteQueueView:
    """The `QueueView` port over the reader. `QueueCounts.lanes` counts lanes with a turn not settled."""

    def __init__(self, *, reader: Reader) -> None:
        self._reader = reader

    async def counts(self) -> QueueCounts:
        """See `QueueView.counts`."""
        return await self._reader.ask(_counts)

    async def find(self, *, origin: str, key: str) -> MessageStatus | None:
        """See `QueueView.find`."""
        return await self._reader.ask(lambda rows: _find(rows, origin=origin, key=key))

    async def paused(self) -> tuple[PausedTurn, ...]:
        """See `QueueView.paused`."""
        return await self._reader.ask(_paused)

    async def listing(self, *, limit: int = 200) -> QueueListing:
        """See `QueueView.listing`."""
        return await self._reader.ask(lambda rows: list_queue(rows, limit=limit))

    async def cursor(self, *, origin: str, scope: str) -> str | None:
        """See `QueueView.cursor`."""
        return await self._reader.ask(lambda rows: _cursor(rows, origin=origin, scope=scope))


def _cursor(rows: Rows, *, origin: str, scope: str) -> str | None:
    found = rows.row("SELECT value FROM cursors WHERE origin=? AND scope=?", origin, scope)
    return None if found is None else str(found[0])


def _history(rows: Rows, lane: LaneId, *, window: int, limit: int) -> tuple[HistoryEntry, ...]:
    newest = rows.rows(
        "SELECT role, content FROM entries WHERE lane=? AND window=? ORDER BY entry DESC LIMIT ?",
        lane,
        window,
        limit,
    )
    return tuple(codec.decode_entry(role, content) for role, content in reversed(newest))


def _summaries(rows: Rows, *, limit: int) -> tuple[ConversationSummary, ...]:
    found = rows.rows(
        "SELECT l.lane, (SELECT max(route) FROM routes r WHERE r.lane=l.lane), l.window, l.title,"
        " (SELECT count(*) FROM turns t JOIN messages m ON m.turn=t.turn"
        " WHERE t.lane=l.lane AND t.state IN('collecting','queued')),"
        " (SELECT state FROM turns t WHERE t.lane=l.lane AND t.state IN('started','unknown')), newest.at"
        " FROM lanes l LEFT JOIN (SELECT lane, max(message) AS message, max(received_at) AS at FROM messages"
        " GROUP BY lane) newest ON newest.lane=l.lane"
        " WHERE EXISTS(SELECT 1 FROM routes r WHERE r.lane=l.lane)"
        " ORDER BY newest.message DESC NULLS LAST, l.lane DESC LIMIT ?",
        limit,
    )
    return tuple(
        ConversationSummary(
            lane=LaneId(lane),
            route=Route.parse(route),
            window=window,
            title=title,
            waiting=waiting,
            active=None if active is None else TurnState(active),
            last_at=None if last_at is None else codec.from_ms(last_at),
        )
        for lane, route, window, title, waiting, active, last_at in found
    )


def _counts(rows: Rows) -> QueueCounts:
    return QueueCounts(
        waiting=rows.value(
            "SELECT count(*) FROM turns t JOIN messages m ON m.turn=t.turn"
            " WHERE t.state IN('collecting','queued')"
        ),
        running=rows.value(
            "SELECT count(*) FROM turns t WHERE t.state IN('started','unknown') AND t.state='started'"
        ),
        paused=rows.value(
            "SELECT count(*) FROM turns t WHERE t.state IN('started','unknown') AND t.state='unknown'"
        ),
        lanes=rows.value(
            "SELECT count(*) FROM (SELECT t.lane FROM turns t WHERE t.state IN('collecting','queued')"
            " UNION SELECT t.lane FROM turns t WHERE t.state IN('started','unknown'))"
        ),
        open_parts=rows.value("SELECT count(*) FROM outbox WHERE state IN('pending','sending')"),
    )


def _find(rows: Rows, *, origin: str, key: str) -> MessageStatus | None:
    found = rows.row(
        "SELECT m.message, t.turn, t.state, t.outcome, l.channel FROM messages m JOIN lanes l ON l.lane=m.lane"
        " LEFT JOIN turns t ON t.turn=m.turn WHERE m.origin=? AND m.key=?",
        origin,
        key,
    )
    if found is None:
        return None
    row, turn, state, outcome, channel = found
    return MessageStatus(
        row=MessageRow(row),
        turn=None if turn is None else TurnId(turn),
        state=None if state is None else TurnState(state),
        outcome=None if outcome is None else Outcome(outcome),
        channel=ChannelName(channel),
    )


def _paused(rows: Rows) -> tuple[PausedTurn, ...]:
    found = rows.rows(
        "SELECT turn, lane, generation FROM turns t WHERE t.state IN('started','unknown')"
        " AND t.state='unknown' ORDER BY turn"
    )
    return tuple(
        PausedTurn(turn=TurnId(turn), lane=LaneId(lane), generation=Generation(generation))
        for turn, lane, generation in found
    )

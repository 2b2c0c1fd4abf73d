"""The queue line by line, as its owner reads it."""

from fermix.application.ports.queue_listing import LeftOut, ListedTurn, OpenReplies, QueueListing
from fermix.domain.ids import LaneId, TurnId
from fermix.domain.preview import preview
from fermix.domain.route import Route
from fermix.domain.turn import TurnState
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.gone import list_gone
from fermix.infrastructure.persistence.sqlite.rows import route_of_lane
from fermix.infrastructure.persistence.sqlite.transaction import Row, Rows

_FIELDS = (
    "SELECT turn, lane, state, attempts, settled_at,"
    " state='started' AND epoch<(SELECT epoch FROM runtime) FROM turns t WHERE "
)
_COUNT = "SELECT count(*) FROM turns t WHERE "
# The first two conditions are those of partial indexes, word for word: SQLite uses one only then.
_ACTIVE = "t.state IN('started','unknown')"
_WAITING = "t.state IN('collecting','queued')"
_CAN_RUN_AGAIN = (
    "t.outcome='failed' AND EXISTS(SELECT 1 FROM messages m WHERE m.turn=t.turn)"
    " AND NOT EXISTS(SELECT 1 FROM messages m WHERE m.turn=t.turn AND m.body IS NULL)"
)


def list_queue(rows: Rows, *, limit: int) -> QueueListing:
    """The queue over all channels; at most `limit` lines of each kind."""
    active = rows.rows(_FIELDS + _ACTIVE + " ORDER BY state='started', turn LIMIT ?", limit)
    waiting = rows.rows(_FIELDS + _WAITING + " ORDER BY turn LIMIT ?", limit - len(active))
    failed = rows.rows(_FIELDS + _CAN_RUN_AGAIN + " ORDER BY turn DESC LIMIT ?", limit)
    replies = _open_replies(rows)
    unsettled = _count(rows, _ACTIVE) + _count(rows, _WAITING)
    return QueueListing(
        turns=tuple(_listed(rows, turn) for turn in (*active, *waiting)),
        failed=tuple(_listed(rows, turn) for turn in failed),
        replies=replies[:limit],
        gone=list_gone(rows, limit=limit),
        left_out=LeftOut(
            turns=unsettled - len(active) - len(waiting),
            failed=_count(rows, _CAN_RUN_AGAIN) - len(failed),
            targets=max(len(replies) - limit, 0),
        ),
    )


def _count(rows: Rows, condition: str) -> int:
    count: int = rows.value(_COUNT + condition)
    return count


def _listed(rows: Rows, found: Row) -> ListedTurn:
    turn, lane, state, attempts, settled_at, left_behind = found
    messages = rows.rows("SELECT received_at, body FROM messages WHERE turn=? ORDER BY message", turn)
    return ListedTurn(
        turn=TurnId(turn),
        lane=LaneId(lane),
        route=route_of_lane(rows, LaneId(lane)),
        state=TurnState(state),
        left_behind=bool(left_behind),
        attempts=attempts,
        messages=len(messages),
        asked_at=codec.from_ms(messages[0][0]),
        ended_at=None if settled_at is None else codec.from_ms(settled_at),
        preview=preview(codec.decode_message(body).text for _, body in messages if body is not None),
    )


def _open_replies(rows: Rows) -> tuple[OpenReplies, ...]:
    # SQLite takes the bare columns of a `min` from the row that has it: the oldest open part of the target.
    heads = rows.rows(
        "SELECT min(part), count(*), target, state, created_at, due_at FROM outbox"
        " WHERE state IN('pending','sending') GROUP BY target ORDER BY 1"
    )
    return tuple(
        OpenReplies(
            target=Route.parse(target),
            parts=parts,
            oldest_at=codec.from_ms(created_at),
            sending=state == "sending",
            retry_at=codec.from_ms(due_at) if state == "pending" and due_at > created_at else None,
        )
        for _, parts, target, state, created_at, due_at in heads
    )

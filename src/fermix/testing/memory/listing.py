"""The queue of the in-memory ledger line by line."""

from collections.abc import Iterable

from fermix.application.ports.queue_listing import GoneChat, LeftOut, ListedTurn, OpenReplies, QueueListing
from fermix.domain.preview import preview
from fermix.domain.route import Route
from fermix.domain.turn import WAITING, Outcome, PartState, TurnState
from fermix.testing.memory.tables import OPEN, PartRow, Tables, TurnRow


def list_queue(tables: Tables, *, limit: int) -> QueueListing:
    """The queue over all channels; at most `limit` lines of each kind."""
    by_state = {state: [turn for turn in tables.turns.values() if turn.state is state] for state in TurnState}
    waiting = [turn for turn in tables.turns.values() if turn.state in WAITING]
    turns = [*by_state[TurnState.UNKNOWN], *by_state[TurnState.STARTED], *waiting]
    failed = [turn for turn in reversed(by_state[TurnState.SETTLED]) if _can_run_again(tables, turn)]
    replies = _open_replies(part for part in tables.parts.values() if part.state in OPEN)
    return QueueListing(
        turns=tuple(_listed(tables, turn) for turn in turns[:limit]),
        failed=tuple(_listed(tables, turn) for turn in failed[:limit]),
        replies=replies[:limit],
        gone=_gone(tables)[:limit],
        left_out=LeftOut(turns=len(turns[limit:]), failed=len(failed[limit:]), targets=len(replies[limit:])),
    )


def _gone(tables: Tables) -> tuple[GoneChat, ...]:
    rows = sorted(tables.gone.values(), key=lambda row: row.chat.key)
    rows.sort(key=lambda row: row.since, reverse=True)
    return tuple(GoneChat(chat=row.chat, error=row.error, since=row.since) for row in rows)


def _can_run_again(tables: Tables, turn: TurnRow) -> bool:
    bodies = [message.body for message in tables.messages_of(turn.turn)]
    return turn.outcome is Outcome.FAILED and bool(bodies) and None not in bodies


def _listed(tables: Tables, turn: TurnRow) -> ListedTurn:
    messages = tables.messages_of(turn.turn)
    owner = tables.owner
    return ListedTurn(
        turn=turn.turn,
        lane=turn.lane,
        route=tables.lanes[turn.lane].route,
        state=turn.state,
        left_behind=turn.state is TurnState.STARTED and owner is not None and turn.epoch < owner.epoch,
        attempts=turn.attempts,
        messages=len(messages),
        asked_at=messages[0].received_at,
        ended_at=turn.settled_at,
        preview=preview(message.body.text for message in messages if message.body is not None),
    )


def _open_replies(parts: Iterable[PartRow]) -> tuple[OpenReplies, ...]:
    by_target: dict[str, list[PartRow]] = {}
    for part in parts:
        by_target.setdefault(part.target.key, []).append(part)
    return tuple(_replies_of(key, waiting) for key, waiting in by_target.items())


def _replies_of(target: str, parts: list[PartRow]) -> OpenReplies:
    oldest = parts[0]
    waits = oldest.state is PartState.PENDING and oldest.due_at > oldest.created_at
    return OpenReplies(
        target=Route.parse(target),
        parts=len(parts),
        oldest_at=oldest.created_at,
        sending=oldest.state is PartState.SENDING,
        retry_at=oldest.due_at if waits else None,
    )

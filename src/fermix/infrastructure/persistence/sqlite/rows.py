"""Rows of lanes, turns and messages: finding them, and the steps a turn goes through."""

from dataclasses import dataclass
from functools import lru_cache

from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.history import HistoryEntry, MarkerEntry, pictures_of
from fermix.domain.ids import ChannelName, Epoch, Generation, LaneId, MessageRow, PlatformMessageId, TurnId
from fermix.domain.incoming_media import unanswered
from fermix.domain.lane import album_order
from fermix.domain.message import InboundMessage
from fermix.domain.route import Route, Target
from fermix.domain.turn import WAITING, Outcome, TurnState, may_settle
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.media import media_of, prepare_no_more
from fermix.infrastructure.persistence.sqlite.moves import current_route
from fermix.infrastructure.persistence.sqlite.transaction import Row, Rows, Transaction

_SCOPES_KEPT = 64

_SELECT_TURN = (
    "SELECT turn, lane, channel, state, outcome, awaited, attempts, epoch, generation, window, snapshot"
    " FROM turns"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn as its row says; `epoch`, `generation` and `window` are those of its last claim."""

    turn: TurnId
    lane: LaneId
    channel: ChannelName
    state: TurnState
    outcome: Outcome | None
    awaited: bool
    attempts: int
    epoch: Epoch
    generation: Generation | None
    window: int | None
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message of a turn; `message` is `None` once its payload was let go."""

    row: MessageRow
    message: InboundMessage | None
    target: Target
    trust: Trust


def turn_row(rows: Rows, turn: TurnId) -> TurnRow | None:
    """The turn of that id."""
    found = rows.row(_SELECT_TURN + " WHERE turn=?", turn)
    return None if found is None else _turn(found)


def known_turn(rows: Rows, turn: TurnId) -> TurnRow:
    """The turn of an id that was just read.

    Raises:
        LookupError: there is none.
    """
    found = turn_row(rows, turn)
    if found is None:
        raise LookupError(f"there is no turn {turn}")
    return found


def turns_where(rows: Rows, condition: str, *values: int | str) -> list[TurnRow]:
    """Turns that meet a condition of ours (never of a caller's making), oldest first."""
    found = rows.rows(_SELECT_TURN + " WHERE " + condition + " ORDER BY turn", *values)
    return [_turn(row) for row in found]


def _turn(row: Row) -> TurnRow:
    turn, lane, channel, state, outcome, awaited, attempts, epoch, generation, window, snapshot = row
    return TurnRow(
        turn=TurnId(turn),
        lane=LaneId(lane),
        channel=ChannelName(channel),
        state=TurnState(state),
        outcome=None if outcome is None else Outcome(outcome),
        awaited=bool(awaited),
        attempts=attempts,
        epoch=Epoch(epoch),
        generation=None if generation is None else Generation(generation),
        window=window,
        scope=_scope(snapshot),
    )


@lru_cache(maxsize=_SCOPES_KEPT)
def _scope(snapshot: str) -> Scope:
    """A snapshot as it was stored; turns share few different ones."""
    return Scope.decode(snapshot)


def messages_of(rows: Rows, turn: TurnId) -> tuple[StoredMessage, ...]:
    """The messages a turn answers, in the order in which they are read."""
    found = rows.rows(
        "SELECT message, body, target, reply_to, trust FROM messages WHERE turn=? ORDER BY message", turn
    )
    arrived = [
        StoredMessage(
            row=MessageRow(row),
            message=None if body is None else codec.decode_message(body),
            target=codec.decode_target(target, reply_to),
            trust=Trust(trust),
        )
        for row, body, target, reply_to, trust in found
    ]
    return tuple(arrived[place] for place in album_order([stored.message for stored in arrived]))


def drafts_of(rows: Rows, turn: TurnId) -> tuple[PlatformMessageId, ...]:
    """The drafts that claims of a turn have opened so far, the newest last."""
    found = rows.rows(
        "SELECT outcome FROM effects WHERE turn=? AND repeat='adopt' AND outcome IS NOT NULL"
        " ORDER BY generation, step",
        turn,
    )
    return tuple(dict.fromkeys(PlatformMessageId(draft) for (draft,) in found))


def find_lane(rows: Rows, route: Route) -> LaneId | None:
    """The lane a route leads to, also when its chat has another id by now."""
    lane = _lane_at(rows, route)
    if lane is None:
        now = current_route(rows, route)
        lane = None if now == route else _lane_at(rows, now)
    return lane


def _lane_at(rows: Rows, route: Route) -> LaneId | None:
    found = rows.row("SELECT lane FROM routes WHERE route=?", route.key)
    return None if found is None else LaneId(found[0])


def lane_of(tx: Transaction, route: Route) -> LaneId:
    """The lane a route leads to; a new one when there is none."""
    lane = find_lane(tx, route)
    if lane is None:
        lane = LaneId(tx.insert("INSERT INTO lanes(channel) VALUES(?)", route.channel))
        tx.run("INSERT INTO routes(route, lane) VALUES(?,?)", current_route(tx, route).key, lane)
    return lane


def route_of_lane(rows: Rows, lane: LaneId) -> Route:
    """A route that leads to a lane."""
    return codec.decode_route(rows.value("SELECT max(route) FROM routes WHERE lane=?", lane))


def count_messages(rows: Rows, turn: TurnId) -> int:
    """How many messages a turn answers."""
    count: int = rows.value("SELECT count(*) FROM messages WHERE turn=?", turn)
    return count


def end_turn(tx: Transaction, turn: TurnRow, outcome: Outcome, *, keep_bodies: bool = False) -> None:
    """Settle a turn; its messages' payloads go unless they are kept for a retry.

    Raises:
        ValueError: a turn in this state cannot end so.
    """
    if not may_settle(turn.state, outcome):
        raise ValueError(f"a turn that is {turn.state} cannot end as {outcome}")
    if turn.state in WAITING:
        tx.waiting.change(turn.lane, -count_messages(tx, turn.turn))
        prepare_no_more(tx, turn.turn)
    tx.run(
        "UPDATE turns SET state='settled', outcome=?, settled_at=?, collect_until=NULL WHERE turn=?",
        outcome,
        tx.now,
        turn.turn,
    )
    if not keep_bodies:
        tx.run("UPDATE messages SET body=NULL WHERE turn=?", turn.turn)


def queue_again(tx: Transaction, turn: TurnRow, *, attempts: int) -> None:
    """Put an active turn back into its place in its lane."""
    tx.run("UPDATE turns SET state='queued', attempts=? WHERE turn=?", attempts, turn.turn)
    tx.waiting.change(turn.lane, count_messages(tx, turn.turn))


def remember(tx: Transaction, turn: TurnRow, entries: tuple[HistoryEntry, ...]) -> None:
    """Append history rows of a turn to the window it was claimed in (before a claim: the lane's)."""
    window = turn.window
    if window is None:
        window = tx.value("SELECT window FROM lanes WHERE lane=?", turn.lane)
    for entry in entries:
        role, content = codec.encode_entry(entry)
        row = tx.insert(
            "INSERT INTO entries(lane, window, turn, role, trust, content) VALUES(?,?,?,?,?,?)",
            turn.lane,
            window,
            turn.turn,
            role,
            turn.scope.trust,
            content,
        )
        for picture in pictures_of((entry,)):
            tx.run("INSERT INTO entry_pictures(blob, entry) VALUES(?,?)", picture.digest, row)


def conclude(tx: Transaction, turn: TurnRow, entries: tuple[HistoryEntry, ...]) -> None:
    """Append the history rows of a turn that ends, before the notes about edits that came while it ran.

    Such a note is written when its edit arrives; it belongs after what it speaks about.
    """
    notes = tx.rows(
        "SELECT lane, window, turn, role, trust, content FROM entries WHERE turn=? ORDER BY entry", turn.turn
    )
    if notes:
        tx.run("DELETE FROM entries WHERE turn=?", turn.turn)
    remember(tx, turn, entries)
    for note in notes:
        tx.run("INSERT INTO entries(lane, window, turn, role, trust, content) VALUES(?,?,?,?,?,?)", *note)


def interrupt(tx: Transaction, turn: TurnRow, *, marker: str, outcome: Outcome = Outcome.INTERRUPTED) -> None:
    """End a turn without an answer; history keeps what was asked, and the marker that says so.

    The payloads of a failed turn are kept, so that its owner can have it run again.
    """
    conclude(tx, turn, _asked_and(tx, turn, marker))
    end_turn(tx, turn, outcome, keep_bodies=outcome is Outcome.FAILED)


def _asked_and(tx: Transaction, turn: TurnRow, marker: str) -> tuple[HistoryEntry, ...]:
    """What the turn's messages brought, and a marker."""
    asked = (
        unanswered(stored.message.text, [media.result for media in media_of(tx, stored.row)])
        for stored in messages_of(tx, turn.turn)
        if stored.message is not None
    )
    return (*(entry for entry in asked if entry is not None), MarkerEntry(text=marker))

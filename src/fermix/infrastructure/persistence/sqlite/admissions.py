"""The ledger's way in (T1, T1c, T2): a list of messages becomes rows in one commit, or is refused."""

from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

from fermix.application.ports.admissions import (
    Accepted,
    Admission,
    AdmitResult,
    Amended,
    Command,
    Conflict,
    Context,
    CursorMove,
    Duplicate,
    Full,
    Input,
)
from fermix.application.ports.outbox import SendingPart
from fermix.domain.authorization import LOCAL_CHANNELS, Trust
from fermix.domain.delivery import Part
from fermix.domain.ids import LaneId, MessageRow, TurnId
from fermix.domain.lane import Placement, QueueLimits, place
from fermix.domain.message import InboundMessage
from fermix.domain.route import ChatMove, Target, origin_of
from fermix.domain.turn import WAITING, MessageKind, Outcome, TurnState
from fermix.infrastructure.persistence.sqlite import albums, codec, commands, edits
from fermix.infrastructure.persistence.sqlite.gone import forget_gone
from fermix.infrastructure.persistence.sqlite.media import add_media
from fermix.infrastructure.persistence.sqlite.moves import current_target
from fermix.infrastructure.persistence.sqlite.moving import move_chat
from fermix.infrastructure.persistence.sqlite.rows import (
    end_turn,
    find_lane,
    known_turn,
    lane_of,
    messages_of,
)
from fermix.infrastructure.persistence.sqlite.transaction import Transaction
from fermix.infrastructure.persistence.sqlite.writer import Writer


class SqliteAdmissions:
    """The `Admissions` port over the writer."""

    def __init__(self, *, writer: Writer, limits: QueueLimits) -> None:
        self._writer = writer
        self._limits = limits

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        """See `Admissions.admit`."""
        items = tuple(batch)
        return await self._writer.do(lambda tx: _admit_all(tx, items, cursor, self._limits), durable=True)

    async def amend(self, edited: InboundMessage, *, key: str) -> Amended | None:
        """See `Admissions.amend`."""
        return await self._writer.do(lambda tx: edits.amend(tx, edited, key=key), durable=True)

    async def move_chat(self, move: ChatMove) -> bool:
        """See `Admissions.move_chat`."""
        return await self._writer.do(lambda tx: move_chat(tx, move), durable=True)

    async def finish_command(self, row: MessageRow, parts: Sequence[Part]) -> tuple[SendingPart, ...]:
        """See `Admissions.finish_command`; a command that is done already gets no second reply."""
        reply = tuple(parts)
        return await self._writer.do(lambda tx: commands.finish(tx, row, reply), durable=True)


def _admit_all(
    tx: Transaction, items: Sequence[Admission], cursor: CursorMove | None, limits: QueueLimits
) -> tuple[AdmitResult, ...]:
    results = tuple(admit_one(tx, item, limits) for item in items)
    refused = any(isinstance(r, Full) and r.placement is Placement.FULL_TOTAL for r in results)
    if cursor is not None and not refused:
        tx.run(
            "INSERT INTO cursors(origin, scope, value) VALUES(?,?,?)"
            " ON CONFLICT DO UPDATE SET value=excluded.value",
            cursor.origin,
            cursor.scope,
            cursor.value,
        )
    return results


def admit_one(tx: Transaction, item: Admission, limits: QueueLimits) -> AdmitResult:
    """Write one item, or say why not."""
    seen = _seen_before(tx, item.message)
    if seen is not None:
        return seen
    forget_gone(tx, item.message)
    match item:
        case Input():
            return _admit_input(tx, item, limits)
        case Command():
            return _admit_command(tx, item)
        case Context():
            lane = lane_of(tx, item.route)
            row = _insert(tx, item.message, kind=MessageKind.CONTEXT, lane=lane, trust=item.trust)
            return Accepted(row=row, lane=lane)
        case _:
            assert_never(item)


def _seen_before(tx: Transaction, message: InboundMessage) -> Duplicate | Conflict | None:
    origin = origin_of(message)
    found = tx.row(
        "SELECT m.message, m.digest, t.turn, t.state, t.outcome FROM messages m"
        " LEFT JOIN turns t ON t.turn=m.turn WHERE m.origin=? AND m.key=?",
        origin,
        message.key,
    )
    if found is None:
        return None
    row, digest, turn, state, outcome = found
    chosen_by_caller = message.channel in LOCAL_CHANNELS or origin.startswith(("socket:", "job:"))
    if chosen_by_caller and digest != message.digest():
        return Conflict(row=MessageRow(row))
    return Duplicate(
        row=MessageRow(row),
        turn=None if turn is None else TurnId(turn),
        state=None if state is None else TurnState(state),
        outcome=None if outcome is None else Outcome(outcome),
    )


def _admit_input(tx: Transaction, item: Input, limits: QueueLimits) -> Accepted | Full:
    known = find_lane(tx, item.route)
    album = item.album if item.album is not None and item.album.debounce > timedelta(0) else None
    joins = album is not None and known is not None and albums.is_collecting(tx, known, album.key)
    placement = place(
        waiting_here=0 if known is None else tx.waiting.here(known),
        waiting_in_all=tx.waiting.total,
        limits=limits,
    )
    if placement is not Placement.WAIT and not joins:
        return Full(placement=placement)
    lane = known if known is not None else lane_of(tx, item.route)
    albums.end_by_later_message(tx, lane, item.message, album=album)
    if album is not None and (joins or albums.may_open(tx, lane)):
        turn = albums.join_or_open(tx, lane, item, album)
    else:
        turn = _open_turn(tx, lane, item)
    row = _insert(
        tx,
        item.message,
        kind=MessageKind.INPUT,
        lane=lane,
        trust=item.trust,
        turn=turn,
        target=item.target,
    )
    tx.waiting.change(lane, 1)
    for media in item.media:
        add_media(tx, row, media)
    return Accepted(row=row, lane=lane, turn=turn)


def _open_turn(tx: Transaction, lane: LaneId, item: Input) -> TurnId:
    turn = tx.insert(
        "INSERT INTO turns(lane, channel, state, awaited, epoch, snapshot, created_at)"
        " VALUES(?,?,'queued',?,?,?,?)",
        lane,
        item.route.channel,
        int(item.awaited),
        tx.epoch,
        item.scope.encode(),
        tx.now,
    )
    return TurnId(turn)


def _admit_command(tx: Transaction, item: Command) -> Accepted | Duplicate:
    if item.instead_of is not None:
        turn = known_turn(tx, item.instead_of)
        if turn.state not in WAITING:
            first = messages_of(tx, turn.turn)[0].row
            return Duplicate(row=first, turn=turn.turn, state=turn.state, outcome=turn.outcome)
        end_turn(tx, turn, Outcome.CANCELLED)
    lane = lane_of(tx, item.route)
    row = _insert(tx, item.message, kind=MessageKind.COMMAND, lane=lane, trust=item.trust, target=item.target)
    done = commands.perform(tx, item, row=row, lane=lane)
    return Accepted(row=row, lane=lane, effect=done.effect, replies=done.replies, parts=done.parts)


def _insert(
    tx: Transaction,
    message: InboundMessage,
    *,
    kind: MessageKind,
    lane: LaneId,
    trust: Trust,
    turn: TurnId | None = None,
    target: Target | None = None,
) -> MessageRow:
    place = None if target is None else current_target(tx, target)
    row = tx.insert(
        "INSERT INTO messages(origin, key, digest, lane, turn, kind, trust, sender, target, reply_to, body,"
        " epoch, received_at) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
        origin_of(message),
        message.key,
        message.digest(),
        lane,
        turn,
        kind,
        trust,
        codec.storable(message.sender.id or ""),
        None if place is None else place.key,
        None if place is None else place.reply_to,
        codec.encode_message(message),
        tx.epoch,
        tx.now,
    )
    return MessageRow(row)

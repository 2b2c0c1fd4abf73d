"""The in-memory ledger's way in."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import assert_never

from fermix.application.ports.admissions import (
    Accepted,
    Admission,
    AdmitResult,
    Album,
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
from fermix.domain import wording
from fermix.domain.authorization import LOCAL_CHANNELS
from fermix.domain.delivery import Part
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.ids import LaneId, MessageRow, TurnId
from fermix.domain.lane import ALBUM_MAX_PARTS, Placement, QueueLimits, collect_until, may_open_album, place
from fermix.domain.message import InboundMessage
from fermix.domain.route import ChatMove, Route, origin_of
from fermix.domain.turn import WAITING, MessageKind, Outcome, TurnState
from fermix.testing.memory import commands
from fermix.testing.memory.media import add_media
from fermix.testing.memory.moving import move_chat
from fermix.testing.memory.process import Process, Transaction
from fermix.testing.memory.steps import end_turn, move, remember
from fermix.testing.memory.tables import LaneRow, StoredMessage, TurnRow

_NEVER_IN_HISTORY = frozenset({Outcome.CANCELLED, Outcome.REJECTED})


class MemoryAdmissions:
    """The `Admissions` port."""

    def __init__(self, *, process: Process, limits: QueueLimits) -> None:
        self._process = process
        self._limits = limits

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        """See `Admissions.admit`."""
        items = tuple(batch)
        return await self._process.write(lambda tx: _admit_all(tx, items, cursor, self._limits), durable=True)

    async def amend(self, edited: InboundMessage, *, key: str) -> Amended | None:
        """See `Admissions.amend`."""
        return await self._process.write(lambda tx: _amend(tx, edited, key), durable=True)

    async def move_chat(self, move: ChatMove) -> bool:
        """See `Admissions.move_chat`."""
        return await self._process.write(lambda tx: move_chat(tx, move), durable=True)

    async def finish_command(self, row: MessageRow, parts: Sequence[Part]) -> tuple[SendingPart, ...]:
        """See `Admissions.finish_command`."""
        reply = tuple(parts)
        return await self._process.write(lambda tx: commands.finish(tx, row, reply), durable=True)


def _admit_all(
    tx: Transaction, items: Sequence[Admission], cursor: CursorMove | None, limits: QueueLimits
) -> tuple[AdmitResult, ...]:
    results = tuple(admit_one(tx, item, limits) for item in items)
    refused = any(isinstance(each, Full) and each.placement is Placement.FULL_TOTAL for each in results)
    if cursor is not None and not refused:
        tx.tables.cursors[cursor.origin, cursor.scope] = cursor.value
    return results


def admit_one(tx: Transaction, item: Admission, limits: QueueLimits) -> AdmitResult:
    """Write one item, or say why not."""
    seen = _seen_before(tx, item.message)
    if seen is not None:
        return seen
    message = item.message
    chat = Route(channel=message.channel, account=message.account, chat=message.reply_target)
    tx.tables.gone.pop(chat.key, None)
    match item:
        case Input():
            return _admit_input(tx, item, limits)
        case Command():
            decided = _end_in_favour(tx, item)
            if decided is not None:
                return decided
            lane = tx.tables.lane_of(item.route)
            row = _insert(tx, item, kind=MessageKind.COMMAND, lane=lane)
            done = commands.perform(tx, item, row=row, lane=lane)
            return Accepted(
                row=row, lane=lane.lane, effect=done.effect, replies=done.replies, parts=done.parts
            )
        case Context():
            lane = tx.tables.lane_of(item.route)
            return Accepted(row=_insert(tx, item, kind=MessageKind.CONTEXT, lane=lane), lane=lane.lane)
        case _:
            assert_never(item)


def _end_in_favour(tx: Transaction, item: Command) -> Duplicate | None:
    """End the waiting turn that turned out to be this command; what became of one that waits no more."""
    if item.instead_of is None:
        return None
    turn = tx.tables.turns[item.instead_of]
    if turn.state not in WAITING:
        first = tx.tables.read_in_order(turn.turn)[0].row
        return Duplicate(row=first, turn=turn.turn, state=turn.state, outcome=turn.outcome)
    end_turn(tx, turn, Outcome.CANCELLED)
    return None


def _seen_before(tx: Transaction, message: InboundMessage) -> Duplicate | Conflict | None:
    origin = origin_of(message)
    row = tx.tables.keys.get((origin, message.key))
    if row is None:
        return None
    known = tx.tables.messages[row]
    chosen_by_caller = message.channel in LOCAL_CHANNELS or origin.startswith(("socket:", "job:"))
    if chosen_by_caller and known.digest != message.digest():
        return Conflict(row=row)
    if known.turn is None:
        return Duplicate(row=row)
    turn = tx.tables.turns[known.turn]
    return Duplicate(row=row, turn=turn.turn, state=turn.state, outcome=turn.outcome)


def _admit_input(tx: Transaction, item: Input, limits: QueueLimits) -> Accepted | Full:
    known = tx.tables.find_lane(item.route)
    album = item.album if item.album is not None and item.album.debounce > timedelta(0) else None
    joins = album is not None and known is not None and _collecting(tx, known, album.key) is not None
    placement = place(
        waiting_here=0 if known is None else tx.tables.waiting(known),
        waiting_in_all=tx.tables.waiting(),
        limits=limits,
    )
    if placement is not Placement.WAIT and not joins:
        return Full(placement=placement)
    lane = tx.tables.lane_of(item.route)
    _end_albums_left_behind(tx, lane, item, album)
    if album is not None and (joins or _may_open(tx, lane)):
        turn = _join_or_open(tx, lane, item, album)
    else:
        turn = _open_turn(tx, lane, item)
    row = _insert(tx, item, kind=MessageKind.INPUT, lane=lane, turn=turn)
    for media in item.media:
        add_media(tx, row, media)
    return Accepted(row=row, lane=lane.lane, turn=turn)


def _end_albums_left_behind(tx: Transaction, lane: LaneRow, item: Input, album: Album | None) -> None:
    """A sender who goes on with something else has sent the whole album."""
    for turn in tx.tables.turns_of(lane.lane):
        if turn.state is not TurnState.COLLECTING or (album is not None and turn.album == album.key):
            continue
        if tx.tables.messages_of(turn.turn)[0].sender == (item.message.sender.id or ""):
            move(tx, turn, TurnState.QUEUED)


def _collecting(tx: Transaction, lane: LaneId, key: str) -> TurnRow | None:
    turns = tx.tables.turns_of(lane)
    return next((t for t in turns if t.state is TurnState.COLLECTING and t.album == key), None)


def _may_open(tx: Transaction, lane: LaneRow) -> bool:
    states = [turn.state for turn in tx.tables.turns_of(lane.lane)]
    return may_open_album(open_here=states.count(TurnState.COLLECTING))


def _join_or_open(tx: Transaction, lane: LaneRow, item: Input, album: Album) -> TurnId:
    turn = _collecting(tx, lane.lane, album.key)
    if turn is None:
        return _open_turn(tx, lane, item, album=album)
    parts = len(tx.tables.messages_of(turn.turn)) + 1
    joined = replace(
        turn,
        collect_until=collect_until(tx.now, debounce=album.debounce, parts=parts),
        scope=turn.scope.within(item.scope),
        awaited=turn.awaited or item.awaited,
    )
    tx.tables.turns[turn.turn] = joined
    if parts >= ALBUM_MAX_PARTS:
        move(tx, joined, TurnState.QUEUED)
    return turn.turn


def _open_turn(tx: Transaction, lane: LaneRow, item: Input, *, album: Album | None = None) -> TurnId:
    turn = TurnId(tx.tables.next("turn"))
    tx.tables.turns[turn] = TurnRow(
        turn=turn,
        lane=lane.lane,
        channel=item.route.channel,
        state=TurnState.QUEUED if album is None else TurnState.COLLECTING,
        epoch=tx.epoch,
        scope=item.scope,
        awaited=item.awaited,
        album=None if album is None else album.key,
        collect_until=None if album is None else collect_until(tx.now, debounce=album.debounce, parts=1),
    )
    return turn


def _insert(
    tx: Transaction, item: Admission, *, kind: MessageKind, lane: LaneRow, turn: TurnId | None = None
) -> MessageRow:
    message = item.message
    row = MessageRow(tx.tables.next("message"))
    tx.tables.keys[origin_of(message), message.key] = row
    tx.tables.messages[row] = StoredMessage(
        row=row,
        origin=origin_of(message),
        key=message.key,
        digest=message.digest(),
        lane=lane.lane,
        kind=kind,
        trust=item.trust,
        epoch=tx.epoch,
        received_at=tx.now,
        sender=message.sender.id or "",
        body=message,
        turn=turn,
        target=None if isinstance(item, Context) else tx.tables.current_target(item.target),
    )
    return row


def _amend(tx: Transaction, edited: InboundMessage, key: str) -> Amended | None:
    row = tx.tables.keys.get((origin_of(edited), key))
    known = None if row is None else tx.tables.messages[row]
    if known is None or known.kind is MessageKind.COMMAND:
        return None
    stamp = edited.edited_at or tx.now
    if known.edited_at is not None and (
        stamp < known.edited_at or (stamp == known.edited_at and edited.digest() == known.digest)
    ):
        return None
    turn = None if known.turn is None else tx.tables.turns[known.turn]
    stamped = replace(known, edited_at=stamp, digest=edited.digest())
    if turn is not None and turn.state not in WAITING:
        if turn.outcome in _NEVER_IN_HISTORY:
            return None
        if edited.text.strip():
            remember(tx, turn, (MarkerEntry(text=wording.EDITED_NOTE), UserEntry(text=edited.text)))
        tx.tables.messages[known.row] = stamped
        return Amended(replaced=False)
    if known.body is None:
        return None
    now_says = replace(
        known.body,
        text=edited.text,
        raw_text=edited.raw_text,
        mentions=edited.mentions,
        edited_at=edited.edited_at,
    )
    tx.tables.messages[known.row] = replace(stamped, body=now_says)
    return Amended(replaced=True)

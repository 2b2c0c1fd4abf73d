"""Outgoing parts of the in-memory ledger: adding them, and which one of a target leaves next."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from fermix.application.ports.outbox import DueParts, SendingPart
from fermix.domain.delivery import GONE_FOR, Part, for_another_chat
from fermix.domain.ids import ChannelName, PartId, TurnId
from fermix.domain.route import Target
from fermix.domain.turn import PartState
from fermix.testing.memory.process import Transaction
from fermix.testing.memory.tables import OPEN, EffectRow, PartRow, chat_of

_AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""Due at any time: a part that was never tried waits for its place alone, also after the clock was set back."""


def add_parts(
    tx: Transaction,
    parts: Sequence[Part],
    *,
    target: Target,
    turn: TurnId | None = None,
    notice: str | None = None,
) -> tuple[SendingPart, ...]:
    """Commit parts of a turn, or of a notice; returns the first, started, when nothing older is open."""
    free = tx.tables.head_of(tx.tables.current_target(target).key) is None
    first = 0 if turn is None else tx.tables.next_ordinal(turn)
    added = [
        _add(tx, part, target=target, turn=turn, ordinal=ordinal, notice=notice)
        for ordinal, part in enumerate(parts, first)
    ]
    return (start(tx, added[0]),) if added and free else ()


def add_effect_part(tx: Transaction, part: Part, *, target: Target, effect: EffectRow) -> SendingPart | None:
    """Commit a part sent in mid-turn, whose end writes the outcome of `effect`."""
    free = tx.tables.head_of(tx.tables.current_target(target).key) is None
    ordinal = tx.tables.next_ordinal(effect.turn)
    added = _add(tx, part, target=target, turn=effect.turn, ordinal=ordinal, notice=None)
    row = replace(tx.tables.parts[added], generation=effect.generation, step=effect.step)
    tx.tables.parts[added] = row
    return start(tx, added) if free else None


def add_waiting(tx: Transaction, part: Part, *, target: Target, turn: TurnId) -> None:
    """Commit a part of a turn without starting it."""
    _add(tx, part, target=target, turn=turn, ordinal=tx.tables.next_ordinal(turn), notice=None)


def add_notice(tx: Transaction, part: Part, *, target: Target, notice: str) -> None:
    """Commit a notice without starting it, once however often it is asked for."""
    if all(row.notice != notice for row in tx.tables.parts.values()):
        _add(tx, part, target=target, turn=None, ordinal=0, notice=notice)


def start(tx: Transaction, part: PartId) -> SendingPart:
    """Mark a part as on its way, durably: a death after it must find that it may have left."""
    tx.durable = True
    row = tx.tables.parts[part]
    tx.tables.parts[part] = replace(
        row, state=PartState.SENDING, epoch=tx.epoch, tried_at=row.tried_at or tx.now
    )
    return SendingPart(
        part=row.part,
        turn=row.turn,
        ordinal=row.ordinal,
        target=row.target,
        body=row.body,
        nonce=row.nonce,
        created_at=row.created_at,
        tried_at=row.tried_at,
        repeated=row.repeated,
        attempts=row.attempts,
        target_gone=_is_gone(tx, row.target),
    )


def _is_gone(tx: Transaction, target: Target) -> bool:
    known = tx.tables.gone.get(chat_of(target).key)
    return known is not None and known.since > tx.now - GONE_FOR


def start_next(tx: Transaction, target_key: str) -> SendingPart | None:
    """Start the oldest open part of a target if it is due and not on its way already."""
    head = tx.tables.head_of(target_key)
    if head is None or head.state is not PartState.PENDING or head.due_at > tx.now:
        return None
    return start(tx, head.part)


def start_due(tx: Transaction, *, channels: Collection[ChannelName], limit: int | None) -> DueParts:
    """Start the oldest open part of every served target that may leave now, oldest first."""
    heads: dict[str, PartRow] = {}
    for row in tx.tables.parts.values():
        if row.state in OPEN:
            heads.setdefault(row.target.key, row)
    started: list[SendingPart] = []
    later: list[datetime] = []
    for head in heads.values():
        if head.state is not PartState.PENDING or head.target.channel not in channels:
            continue
        if head.due_at <= tx.now and (limit is None or len(started) < limit):
            started.append(start(tx, head.part))
        else:
            later.append(head.due_at)
    return DueParts(parts=tuple(started), next_due=min(later, default=None))


def withdraw(tx: Transaction, turn: TurnId | None = None) -> None:
    """No open part of the turn (without one: of any turn) is to leave any more; notices stay."""
    for row in tx.tables.parts.values():
        if row.state in OPEN and row.turn is not None and turn in {None, row.turn}:
            tx.tables.parts[row.part] = replace(row, state=PartState.WITHDRAWN)


def _add(
    tx: Transaction, part: Part, *, target: Target, turn: TurnId | None, ordinal: int, notice: str | None
) -> PartId:
    place = tx.tables.current_target(target)
    number = PartId(tx.tables.next("part"))
    tx.tables.parts[number] = PartRow(
        part=number,
        turn=turn,
        ordinal=ordinal,
        notice=notice,
        target=place,
        body=part if place == target else for_another_chat(part),
        nonce=tx.ids.new(),
        state=PartState.PENDING,
        due_at=_AT_ONCE,
        created_at=tx.now,
    )
    return number

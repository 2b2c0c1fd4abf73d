"""Rows of the outbox: adding parts, and which one of a target leaves next."""

from collections.abc import Collection, Sequence
from datetime import datetime

from fermix.application.ports.outbox import DueParts, SendingPart
from fermix.domain.delivery import MediaPart, Part, for_another_chat
from fermix.domain.ids import ChannelName, Generation, PartId, TurnId
from fermix.domain.route import Target
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.gone import is_gone
from fermix.infrastructure.persistence.sqlite.moves import current_target
from fermix.infrastructure.persistence.sqlite.transaction import Row, Rows, Transaction

_AT_ONCE = 0
"""Due at any time: a part that was never tried waits for its place alone, also after the clock was set back."""


def add_parts(
    tx: Transaction,
    parts: Sequence[Part],
    *,
    target: Target,
    turn: TurnId | None = None,
    notice: str | None = None,
) -> tuple[SendingPart, ...]:
    """Commit parts of a turn, or (named by `notice`, unique for good) of nobody's turn.

    Returns:
        The first of them, now `sending`, when nothing older is open for the target; else nothing.
    """
    if not parts:
        return ()
    free = not _has_open(tx, target)
    first = 0
    if turn is not None:
        first = tx.value("SELECT coalesce(max(ordinal)+1, 0) FROM outbox WHERE turn=?", turn)
    added = [
        _insert(
            tx,
            part,
            target=target,
            turn=turn,
            ordinal=ordinal,
            notice=None if notice is None else f"{notice}:{ordinal}",
        )
        for ordinal, part in enumerate(parts, first)
    ]
    return (_start(tx, added[0]),) if free else ()


def add_effect_part(
    tx: Transaction, part: Part, *, target: Target, turn: TurnId, generation: Generation, step: int
) -> SendingPart | None:
    """Commit a part sent in mid-turn; its end will write the outcome of the effect `generation`, `step`."""
    free = not _has_open(tx, target)
    ordinal = tx.value("SELECT coalesce(max(ordinal)+1, 0) FROM outbox WHERE turn=?", turn)
    added = _insert(tx, part, target=target, turn=turn, ordinal=ordinal, notice=None)
    tx.run("UPDATE outbox SET generation=?, step=? WHERE part=?", generation, step, added)
    return _start(tx, added) if free else None


def add_notice(tx: Transaction, part: Part, *, target: Target, notice: str) -> None:
    """Commit a notice once, however often it is asked for; it waits for its turn among the target's parts."""
    if tx.row("SELECT 1 FROM outbox WHERE notice=?", notice) is None:
        _insert(tx, part, target=target, turn=None, ordinal=0, notice=notice)


def add_waiting(tx: Transaction, part: Part, *, target: Target, turn: TurnId) -> None:
    """Commit a part of a turn without starting it."""
    ordinal = tx.value("SELECT coalesce(max(ordinal)+1, 0) FROM outbox WHERE turn=?", turn)
    _insert(tx, part, target=target, turn=turn, ordinal=ordinal, notice=None)


def withdraw(tx: Transaction, turn: TurnId) -> None:
    """No open part of the turn is to leave any more."""
    tx.run("UPDATE outbox SET state='withdrawn' WHERE turn=? AND state IN('pending','sending')", turn)


def withdraw_all_turns(tx: Transaction) -> None:
    """No open part of any turn is to leave any more; replies of commands and notices stay."""
    tx.run("UPDATE outbox SET state='withdrawn' WHERE turn IS NOT NULL AND state IN('pending','sending')")


def start_next(tx: Transaction, target_key: str) -> SendingPart | None:
    """Mark the oldest open part of a target as `sending` if it is due and none is on its way."""
    head = tx.row(
        "SELECT part, state, due_at FROM outbox WHERE target=? AND state IN('pending','sending')"
        " ORDER BY part LIMIT 1",
        target_key,
    )
    if head is None or head[1] != "pending" or head[2] > tx.now:
        return None
    return _start(tx, head[0])


def start_due(tx: Transaction, *, channels: Collection[ChannelName], limit: int | None) -> DueParts:
    """Mark the oldest open part of every target that waits for nothing as `sending`."""
    started: list[SendingPart] = []
    next_due: datetime | None = None
    for part, due_at in _pending_heads(tx, channels):
        if due_at <= tx.now and (limit is None or len(started) < limit):
            started.append(_start(tx, part))
        else:
            due = codec.from_ms(due_at)
            next_due = due if next_due is None else min(next_due, due)
    return DueParts(parts=tuple(started), next_due=next_due)


def _pending_heads(rows: Rows, channels: Collection[ChannelName]) -> list[tuple[int, int]]:
    """The oldest open part of each served target whose oldest is not on its way; oldest first."""
    heads = rows.rows(
        "SELECT min(part), state, due_at, target FROM outbox"
        " WHERE state IN('pending','sending') GROUP BY target ORDER BY 1"
    )
    return [
        (part, due_at)
        for part, state, due_at, target in heads
        if state == "pending" and codec.decode_route(target).channel in channels
    ]


def _has_open(rows: Rows, target: Target) -> bool:
    place = current_target(rows, target)
    return (
        rows.row("SELECT 1 FROM outbox WHERE target=? AND state IN('pending','sending') LIMIT 1", place.key)
        is not None
    )


def _insert(
    tx: Transaction, part: Part, *, target: Target, turn: TurnId | None, ordinal: int, notice: str | None
) -> PartId:
    place = current_target(tx, target)
    row = tx.insert(
        "INSERT INTO outbox(turn, ordinal, notice, origin, target, reply_to, body, blob, nonce, state,"
        " due_at, created_at) VALUES(?,?,?,?,?,?,?,?,?,'pending',?,?)",
        turn,
        ordinal,
        notice,
        f"{place.channel}:{place.account}",
        place.key,
        place.reply_to,
        codec.encode_part(part if place == target else for_another_chat(part)),
        part.blob.digest if isinstance(part, MediaPart) else None,
        tx.ids.new(),
        _AT_ONCE,
        tx.now,
    )
    return PartId(row)


def _start(tx: Transaction, part: int) -> SendingPart:
    """The part as it stood before this try, and its row as `sending`.

    The state is on disk before anybody sends: a death between the two must not leave an unmarked repeat.
    """
    tx.require_sync()
    found = tx.row(
        "SELECT part, turn, ordinal, target, reply_to, body, nonce, created_at, tried_at, repeated, attempts"
        " FROM outbox WHERE part=?",
        part,
    )
    if found is None:
        raise LookupError(f"part {part} is gone")
    tx.run(
        "UPDATE outbox SET state='sending', epoch=?, tried_at=coalesce(tried_at, ?) WHERE part=?",
        tx.epoch,
        tx.now,
        part,
    )
    return _sending(tx, found)


def _sending(tx: Transaction, row: Row) -> SendingPart:
    part, turn, ordinal, target, reply_to, body, nonce, created_at, tried_at, repeated, attempts = row
    place = codec.decode_target(target, reply_to)
    return SendingPart(
        part=PartId(part),
        turn=None if turn is None else TurnId(turn),
        ordinal=ordinal,
        target=place,
        body=codec.decode_part(body),
        nonce=nonce,
        created_at=codec.from_ms(created_at),
        tried_at=None if tried_at is None else codec.from_ms(tried_at),
        repeated=bool(repeated),
        attempts=attempts,
        target_gone=is_gone(tx, place),
    )

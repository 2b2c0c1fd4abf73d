"""Putting right what an owner that died left behind (T8); the rules are the domain's, this applies them."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import assert_never

from fermix.application.ports.ownership import Recovered
from fermix.domain import wording
from fermix.domain.authorization import Trust
from fermix.domain.delivery import TextPart
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.recovery import InterruptedTurn, RecordedEffect, Recovery, Repeat, recover
from fermix.domain.route import Route
from fermix.domain.turn import Outcome
from fermix.infrastructure.persistence.sqlite import albums, codec
from fermix.infrastructure.persistence.sqlite.commands import notice_key
from fermix.infrastructure.persistence.sqlite.left_drafts import is_taken_over
from fermix.infrastructure.persistence.sqlite.parts import add_notice, add_waiting, start_due
from fermix.infrastructure.persistence.sqlite.rows import (
    TurnRow,
    drafts_of,
    interrupt,
    messages_of,
    queue_again,
    turns_where,
)
from fermix.infrastructure.persistence.sqlite.transaction import Rows, Transaction


@dataclass(slots=True, kw_only=True)
class _Found:
    """What became of the turns, collected while the transaction runs."""

    replayed: list[TurnId] = field(default_factory=list)
    interrupted: list[TurnId] = field(default_factory=list)
    failed: list[TurnId] = field(default_factory=list)
    unknown: list[TurnId] = field(default_factory=list)


def recover_channels(tx: Transaction, channels: Collection[ChannelName]) -> Recovered:
    """Put right the rows of older epochs on the served channels; what this owner wrote is left alone."""
    found = _Found()
    for turn in turns_where(tx, "state='started' AND epoch<?", tx.epoch):
        if turn.channel in channels:
            _put_right(tx, turn, found)
    for turn in turns_where(tx, "state IN('collecting','queued') AND awaited=1 AND epoch<?", tx.epoch):
        if turn.channel in channels:
            interrupt(tx, turn, marker=wording.INTERRUPTED_MARKER)
            found.interrupted.append(turn.turn)
    albums.wait_on(tx, channels)
    commands = _report_commands(tx, channels)
    repeated = _offer_again(tx, channels)
    due = start_due(tx, channels=channels, limit=None)
    return Recovered(
        replayed=tuple(found.replayed),
        interrupted=tuple(found.interrupted),
        failed=tuple(found.failed),
        unknown=tuple(found.unknown),
        commands=commands,
        repeated=repeated,
        parts=due.parts,
    )


def _put_right(tx: Transaction, turn: TurnRow, found: _Found) -> None:
    decision = recover(
        InterruptedTurn(
            awaited=turn.awaited, trust=_trust(tx, turn), attempts=turn.attempts, effects=_effects(tx, turn)
        )
    )
    match decision:
        case Recovery.INTERRUPT_AWAITED:
            interrupt(tx, turn, marker=wording.INTERRUPTED_MARKER)
            found.interrupted.append(turn.turn)
        case Recovery.PAUSE_AS_UNKNOWN:
            tx.run("UPDATE turns SET state='unknown' WHERE turn=?", turn.turn)
            notice = f"paused:{turn.turn}:{turn.generation}"
            target = messages_of(tx, turn.turn)[-1].target
            add_notice(tx, TextPart(text=wording.PAUSED), target=target, notice=notice)
            found.unknown.append(turn.turn)
        case Recovery.INTERRUPT_CUT_OFF:
            _end_and_tell(tx, turn, wording.CUT_OFF)
            found.interrupted.append(turn.turn)
        case Recovery.ASK_GUEST_AGAIN:
            _end_and_tell(tx, turn, wording.ASK_AGAIN)
            found.interrupted.append(turn.turn)
        case Recovery.FAIL:
            _end_and_tell(tx, turn, wording.TRIED_TOO_OFTEN, outcome=Outcome.FAILED)
            found.failed.append(turn.turn)
        case Recovery.REPLAY:
            queue_again(tx, turn, attempts=turn.attempts)
            found.replayed.append(turn.turn)
        case _:
            assert_never(decision)


def _end_and_tell(
    tx: Transaction, turn: TurnRow, text: str, *, outcome: Outcome = Outcome.INTERRUPTED
) -> None:
    target = messages_of(tx, turn.turn)[-1].target
    interrupt(tx, turn, marker=wording.INTERRUPTED_MARKER, outcome=outcome)
    draft = next(reversed(drafts_of(tx, turn.turn)), None)
    add_waiting(tx, TextPart(text=text, draft=draft), target=target, turn=turn.turn)
    if draft is not None:
        is_taken_over(tx, turn.turn, draft)


def _trust(rows: Rows, turn: TurnRow) -> Trust:
    """The lowest trust any of its messages was admitted with."""
    trusts = {stored.trust for stored in messages_of(rows, turn.turn)}
    return Trust.OPERATOR if trusts == {Trust.OPERATOR} else Trust.GUEST


def _effects(rows: Rows, turn: TurnRow) -> tuple[RecordedEffect, ...]:
    """What the last claim journalled; earlier claims ended in a replay or were judged by the owner."""
    found = rows.rows(
        "SELECT e.repeat, EXISTS(SELECT 1 FROM outbox o JOIN messages m ON m.turn=o.turn AND m.target=o.target"
        " WHERE o.turn=e.turn AND o.generation=e.generation AND o.step=e.step)"
        " FROM effects e WHERE e.turn=? AND e.generation=?",
        turn.turn,
        turn.generation,
    )
    return tuple(
        RecordedEffect(repeat=Repeat(repeat), own_reply_part=bool(own_part)) for repeat, own_part in found
    )


def _report_commands(tx: Transaction, channels: Collection[ChannelName]) -> int:
    """Commands that were cut off outside the ledger are reported, never repeated."""
    undone = tx.rows(
        "SELECT message, target, reply_to, body FROM messages WHERE kind='command' AND done=0 AND epoch<?",
        tx.epoch,
    )
    served = [row for row in undone if Route.parse(row[1]).channel in channels]
    for message, target, reply_to, body in served:
        tx.run("UPDATE messages SET done=1, body=NULL WHERE message=?", message)
        words = codec.decode_message(body).text.removeprefix("/").split()
        name = words[0].partition("@")[0] if words else ""
        add_notice(
            tx,
            TextPart(text=wording.restarted_during(name)),
            target=codec.decode_target(target, reply_to),
            notice=f"{notice_key(message)}:0",
        )
    return len(served)


def _offer_again(tx: Transaction, channels: Collection[ChannelName]) -> int:
    """Parts that were on their way may have arrived; they leave once more, marked."""
    on_their_way = tx.rows(
        "SELECT part, target FROM outbox WHERE state IN('pending','sending') AND state='sending' AND epoch<?",
        tx.epoch,
    )
    served = [part for part, target in on_their_way if Route.parse(target).channel in channels]
    for part in served:
        tx.run("UPDATE outbox SET state='pending', repeated=1 WHERE part=?", part)
    return len(served)

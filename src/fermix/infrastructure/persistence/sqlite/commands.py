"""Commands whose work lies in the ledger commit with their row, their work and their reply (T1c, T7, T9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from fermix.application.ports.admissions import (
    Command,
    CommandEffect,
    Discard,
    DoOutside,
    NothingToResolve,
    OpenWindow,
    Resolved,
    RetryTurn,
    Said,
    Say,
    StopEverything,
    Stopped,
    StopReport,
    ToBeDone,
    WindowOpened,
)
from fermix.application.ports.outbox import SendingPart
from fermix.domain import wording
from fermix.domain.delivery import Part
from fermix.domain.ids import LaneId, MessageRow
from fermix.domain.turn import Outcome, TurnState
from fermix.infrastructure.persistence.sqlite import codec, resolving
from fermix.infrastructure.persistence.sqlite.moves import current_target
from fermix.infrastructure.persistence.sqlite.parts import add_parts, start_next, withdraw_all_turns
from fermix.infrastructure.persistence.sqlite.rows import count_messages, end_turn, interrupt, turns_where
from fermix.infrastructure.persistence.sqlite.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """What a command did; `replies` counts its reply parts, `parts` are to be sent now."""

    effect: CommandEffect
    replies: int = 0
    parts: tuple[SendingPart, ...] = ()


def perform(tx: Transaction, command: Command, *, row: MessageRow, lane: LaneId) -> Performed:
    """Do the command's work and commit its reply; work outside the ledger stays to be done."""
    effect = _work(tx, command, lane)
    if isinstance(effect, ToBeDone):
        return Performed(effect=effect)
    _done(tx, row)
    reply = tuple(command.reply(effect))
    parts = add_parts(tx, reply, target=command.target, notice=notice_key(row))
    if not parts:
        # What held the target back may just have been withdrawn; then nobody else would start what follows.
        oldest = start_next(tx, current_target(tx, command.target).key)
        parts = () if oldest is None else (oldest,)
    return Performed(effect=effect, replies=len(reply), parts=parts)


def finish(tx: Transaction, row: MessageRow, reply: Sequence[Part]) -> tuple[SendingPart, ...]:
    """Commit the reply of a command that was done outside."""
    found = tx.row("SELECT target, reply_to FROM messages WHERE message=? AND kind='command' AND done=0", row)
    if found is None:
        return ()
    _done(tx, row)
    target = codec.decode_target(*found)
    return add_parts(tx, reply, target=target, notice=notice_key(row))


def notice_key(row: MessageRow) -> str:
    """Names what a command says, so that it is said once."""
    return f"command:{row}"


def _done(tx: Transaction, row: MessageRow) -> None:
    tx.run("UPDATE messages SET done=1, body=NULL WHERE message=?", row)


def _work(tx: Transaction, command: Command, lane: LaneId) -> CommandEffect:
    match command.work:
        case Say():
            return Said()
        case DoOutside():
            return ToBeDone()
        case OpenWindow():
            return _open_window(tx, lane)
        case StopEverything():
            return Stopped(report=_stop(tx))
        case Discard() | RetryTurn():
            return _resolve(tx, command.work)
        case _:
            assert_never(command.work)


def _resolve(tx: Transaction, work: Discard | RetryTurn) -> Resolved | NothingToResolve:
    chosen = resolving.choose(tx, work.turn)
    if chosen is None:
        return NothingToResolve()
    if isinstance(work, RetryTurn):
        queued = resolving.retry(tx, chosen)
        return NothingToResolve() if queued is None else Resolved(turn=chosen.turn, queued_as=queued)
    if chosen.state is not TurnState.UNKNOWN:
        return NothingToResolve()
    resolving.discard(tx, chosen)
    return Resolved(turn=chosen.turn)


def _open_window(tx: Transaction, lane: LaneId) -> WindowOpened:
    paused = turns_where(tx, "lane=? AND state='unknown'", lane)
    for turn in paused:
        resolving.discard(tx, turn)
    tx.run("UPDATE lanes SET window=window+1 WHERE lane=?", lane)
    return WindowOpened(discarded=paused[0].turn if paused else None)


def _stop(tx: Transaction) -> StopReport:
    """One cut through all lanes: the writer is alone, so every row that exists came before the command."""
    running = turns_where(tx, "state='started'")
    waiting = turns_where(tx, "state IN('collecting','queued')")
    messages = sum(count_messages(tx, turn.turn) for turn in waiting)
    for turn in running:
        interrupt(tx, turn, marker=wording.STOPPED_MARKER)
    for turn in waiting:
        end_turn(tx, turn, Outcome.CANCELLED)
    withdraw_all_turns(tx)
    return StopReport(
        running=tuple(turn.turn for turn in running),
        waiting=tuple(turn.turn for turn in waiting),
        waiting_messages=messages,
    )

"""Commands of the in-memory ledger: row, work and reply in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from fermix.domain.ids import MessageRow, TurnId
from fermix.domain.turn import WAITING, MessageKind, Outcome, TurnState
from fermix.testing.memory.media import prepare_again
from fermix.testing.memory.parts import add_parts, start_next, withdraw
from fermix.testing.memory.process import Transaction
from fermix.testing.memory.steps import discard, end_turn, interrupt, move
from fermix.testing.memory.tables import LaneRow, Tables, TurnRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """What a command did, how many reply parts it committed, and which of them leave now."""

    effect: CommandEffect
    replies: int = 0
    parts: tuple[SendingPart, ...] = ()


def perform(tx: Transaction, command: Command, *, row: MessageRow, lane: LaneRow) -> Performed:
    """Do the work of a command and commit its reply; work outside the ledger stays to be done."""
    effect = _work(tx, command, lane)
    if isinstance(effect, ToBeDone):
        return Performed(effect=effect)
    _done(tx, row)
    reply = tuple(command.reply(effect))
    parts = add_parts(tx, reply, target=command.target, notice=notice_of(row))
    if not parts:
        # The work may have withdrawn what held this target; then nobody else would start what is left of it.
        oldest = start_next(tx, tx.tables.current_target(command.target).key)
        parts = () if oldest is None else (oldest,)
    return Performed(effect=effect, replies=len(reply), parts=parts)


def finish(tx: Transaction, row: MessageRow, reply: Sequence[Part]) -> tuple[SendingPart, ...]:
    """Commit the reply of a command that was done outside, once."""
    message = tx.tables.messages.get(row)
    if message is None or message.kind is not MessageKind.COMMAND or message.done or message.target is None:
        return ()
    _done(tx, row)
    return add_parts(tx, reply, target=message.target, notice=notice_of(row))


def notice_of(row: MessageRow) -> str:
    """Names what a command says."""
    return f"command:{row}"


def _done(tx: Transaction, row: MessageRow) -> None:
    tx.tables.messages[row] = replace(tx.tables.messages[row], done=True, body=None)


def _work(tx: Transaction, command: Command, lane: LaneRow) -> CommandEffect:
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
    chosen = _chosen(tx.tables, work.turn)
    if chosen is None:
        return NothingToResolve()
    if isinstance(work, RetryTurn):
        return _retry(tx, chosen)
    if chosen.state is not TurnState.UNKNOWN:
        return NothingToResolve()
    discard(tx, chosen)
    return Resolved(turn=chosen.turn)


def _chosen(tables: Tables, turn: TurnId | None) -> TurnRow | None:
    if turn is not None:
        return tables.turns.get(turn)
    return next((each for each in tables.turns.values() if each.state is TurnState.UNKNOWN), None)


def _open_window(tx: Transaction, lane: LaneRow) -> WindowOpened:
    paused = next((turn for turn in tx.tables.turns_of(lane.lane) if turn.state is TurnState.UNKNOWN), None)
    if paused is not None:
        discard(tx, paused)
    tx.tables.lanes[lane.lane] = replace(lane, window=lane.window + 1)
    return WindowOpened(discarded=None if paused is None else paused.turn)


def _stop(tx: Transaction) -> StopReport:
    turns = list(tx.tables.turns.values())
    running = [turn for turn in turns if turn.state is TurnState.STARTED]
    waiting = [turn for turn in turns if turn.state in WAITING]
    messages = tx.tables.waiting()
    for turn in running:
        interrupt(tx, turn, marker=wording.STOPPED_MARKER)
    for turn in waiting:
        end_turn(tx, turn, Outcome.CANCELLED)
    withdraw(tx)
    return StopReport(
        running=tuple(turn.turn for turn in running),
        waiting=tuple(turn.turn for turn in waiting),
        waiting_messages=messages,
    )


def _retry(tx: Transaction, turn: TurnRow) -> Resolved | NothingToResolve:
    messages = tx.tables.messages_of(turn.turn)
    kept = bool(messages) and all(message.body is not None for message in messages)
    if not kept or (turn.state is not TurnState.UNKNOWN and turn.outcome is not Outcome.FAILED):
        return NothingToResolve()
    withdraw(tx, turn.turn)
    if turn.state is TurnState.UNKNOWN:
        move(tx, turn, TurnState.QUEUED, attempts=0)
        return Resolved(turn=turn.turn, queued_as=turn.turn)
    anew = TurnId(tx.tables.next("turn"))
    tx.tables.turns[anew] = TurnRow(
        turn=anew,
        lane=turn.lane,
        channel=turn.channel,
        state=TurnState.QUEUED,
        epoch=tx.epoch,
        scope=turn.scope,
    )
    for message in messages:
        tx.tables.messages[message.row] = replace(message, turn=anew)
    prepare_again(tx, anew)
    return Resolved(turn=turn.turn, queued_as=anew)

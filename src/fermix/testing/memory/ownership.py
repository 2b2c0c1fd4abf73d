"""Who owns the in-memory ledger: taking it, putting right what an older owner left, sweeping, leaving."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import assert_never

from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.ownership import PausedTurn, Recovered, Retention, Takeover
from fermix.domain import wording
from fermix.domain.delivery import TextPart
from fermix.domain.ids import ChannelName, Epoch, TurnId
from fermix.domain.lane import ALBUM_WAIT_AFTER_RESTART
from fermix.domain.recovery import InterruptedTurn, RecordedEffect, Recovery, recover
from fermix.domain.turn import WAITING, MessageKind, Outcome, PartState, TurnState
from fermix.testing.memory.commands import notice_of
from fermix.testing.memory.left_drafts import forget_drafts
from fermix.testing.memory.parts import add_notice, add_waiting, start_due
from fermix.testing.memory.process import Process, Transaction
from fermix.testing.memory.steps import discard, interrupt, move, target_of_turn, trust_of
from fermix.testing.memory.sweeping import sweep
from fermix.testing.memory.tables import OwnerRow, Tables, TurnRow


class MemoryOwnership:
    """The `Ownership` port."""

    def __init__(self, *, process: Process) -> None:
        self._process = process

    async def take(self, *, instance: str, boot: str) -> Takeover:
        """See `Ownership.take`."""
        return await self._process.take_over(lambda tx: _take(tx, instance=instance, boot=boot))

    async def recover(self, *, channels: Collection[ChannelName]) -> Recovered:
        """See `Ownership.recover`."""
        served = frozenset(channels)
        return await self._process.write(lambda tx: _recover(tx, served), durable=True)

    async def discard(self, paused: PausedTurn) -> None:
        """See `Ownership.discard`."""
        await self._process.write(lambda tx: _discard(tx, paused), durable=True)

    async def sweep(self, retention: Retention, *, limit: int = 500) -> int:
        """See `Ownership.sweep`."""
        return await self._process.write(lambda tx: sweep(tx, retention, limit=limit), durable=False)

    async def leave(self) -> None:
        """See `Ownership.leave`."""
        await self._process.write(_leave, durable=True)


def _take(tx: Transaction, *, instance: str, boot: str) -> Takeover:
    last = tx.tables.owner
    epoch = Epoch(1 if last is None else last.epoch + 1)
    tx.tables.owner = OwnerRow(epoch=epoch, instance=instance, boot=boot, clean=False)
    return Takeover(
        epoch=epoch,
        first=last is None,
        clean=last is None or last.clean,
        rebooted=last is not None and last.boot != boot,
    )


def _leave(tx: Transaction) -> None:
    if tx.tables.owner is not None:
        tx.tables.owner = replace(tx.tables.owner, clean=True)


def _discard(tx: Transaction, paused: PausedTurn) -> None:
    turn = tx.tables.turns.get(paused.turn)
    if turn is None or turn.state is not TurnState.UNKNOWN or turn.generation != paused.generation:
        raise StaleTurn(f"turn {paused.turn} does not wait for its owner any more")
    discard(tx, turn)


@dataclass(slots=True, kw_only=True)
class _Found:
    replayed: list[TurnId] = field(default_factory=list)
    interrupted: list[TurnId] = field(default_factory=list)
    failed: list[TurnId] = field(default_factory=list)
    unknown: list[TurnId] = field(default_factory=list)


def _recover(tx: Transaction, channels: Collection[ChannelName]) -> Recovered:
    found = _Found()
    left = [
        turn
        for turn in tx.tables.turns.values()
        if turn.epoch < tx.epoch and turn.channel in channels and turn.state is not TurnState.SETTLED
    ]
    for turn in left:
        if turn.state is TurnState.STARTED:
            _put_right(tx, turn, found)
    for turn in left:
        if turn.state in WAITING and turn.awaited:
            interrupt(tx, turn, marker=wording.INTERRUPTED_MARKER)
            found.interrupted.append(turn.turn)
    _wait_on_for_albums(tx, channels)
    commands = _report_commands(tx, channels)
    repeated = _offer_again(tx, channels)
    return Recovered(
        replayed=tuple(found.replayed),
        interrupted=tuple(found.interrupted),
        failed=tuple(found.failed),
        unknown=tuple(found.unknown),
        commands=commands,
        repeated=repeated,
        parts=start_due(tx, channels=channels, limit=None).parts,
    )


def _wait_on_for_albums(tx: Transaction, channels: Collection[ChannelName]) -> None:
    """The platform now offers again what the last owner did not take."""
    until = tx.now + ALBUM_WAIT_AFTER_RESTART
    for turn in list(tx.tables.turns.values()):
        if turn.collect_until is not None and turn.epoch < tx.epoch and turn.channel in channels:
            tx.tables.turns[turn.turn] = replace(
                turn, collect_until=max(turn.collect_until, until), epoch=tx.epoch
            )


def _put_right(tx: Transaction, turn: TurnRow, found: _Found) -> None:
    decision = recover(
        InterruptedTurn(
            awaited=turn.awaited,
            trust=trust_of(tx.tables.messages_of(turn.turn)),
            attempts=turn.attempts,
            effects=_effects(tx.tables, turn),
        )
    )
    match decision:
        case Recovery.INTERRUPT_AWAITED:
            interrupt(tx, turn, marker=wording.INTERRUPTED_MARKER)
            found.interrupted.append(turn.turn)
        case Recovery.PAUSE_AS_UNKNOWN:
            move(tx, turn, TurnState.UNKNOWN)
            target = target_of_turn(tx.tables, turn.turn)
            notice = f"paused:{turn.turn}:{turn.generation}"
            add_notice(tx, TextPart(text=wording.PAUSED), target=target, notice=notice)
            found.unknown.append(turn.turn)
        case Recovery.INTERRUPT_CUT_OFF:
            _end_and_tell(tx, turn, wording.CUT_OFF, Outcome.INTERRUPTED)
            found.interrupted.append(turn.turn)
        case Recovery.ASK_GUEST_AGAIN:
            _end_and_tell(tx, turn, wording.ASK_AGAIN, Outcome.INTERRUPTED)
            found.interrupted.append(turn.turn)
        case Recovery.FAIL:
            _end_and_tell(tx, turn, wording.TRIED_TOO_OFTEN, Outcome.FAILED)
            found.failed.append(turn.turn)
        case Recovery.REPLAY:
            move(tx, turn, TurnState.QUEUED)
            found.replayed.append(turn.turn)
        case _:
            assert_never(decision)


def _end_and_tell(tx: Transaction, turn: TurnRow, text: str, outcome: Outcome) -> None:
    target = target_of_turn(tx.tables, turn.turn)
    interrupt(tx, turn, marker=wording.INTERRUPTED_MARKER, outcome=outcome)
    draft = next(reversed(tx.tables.drafts_of(turn.turn)), None)
    add_waiting(tx, TextPart(text=text, draft=draft), target=target, turn=turn.turn)
    forget_drafts(tx, turn.turn, lambda known: known == draft)


def _effects(tables: Tables, turn: TurnRow) -> tuple[RecordedEffect, ...]:
    """What the last claim journalled, and which of it were parts sent to the turn's own people."""
    own = {message.target.key for message in tables.messages_of(turn.turn) if message.target is not None}
    shown = {
        (part.generation, part.step)
        for part in tables.parts.values()
        if part.turn == turn.turn and part.target.key in own
    }
    return tuple(
        RecordedEffect(repeat=effect.repeat, own_reply_part=(effect.generation, effect.step) in shown)
        for effect in tables.effects.values()
        if effect.turn == turn.turn and effect.generation == turn.generation
    )


def _report_commands(tx: Transaction, channels: Collection[ChannelName]) -> int:
    cut_off = [
        message
        for message in tx.tables.messages.values()
        if message.kind is MessageKind.COMMAND and not message.done and message.epoch < tx.epoch
    ]
    reported = 0
    for message in cut_off:
        if message.target is None or message.body is None or message.target.channel not in channels:
            continue
        words = message.body.text.removeprefix("/").split()
        name = words[0].partition("@")[0] if words else ""
        tx.tables.messages[message.row] = replace(message, done=True, body=None)
        add_notice(
            tx,
            TextPart(text=wording.restarted_during(name)),
            target=message.target,
            notice=notice_of(message.row),
        )
        reported += 1
    return reported


def _offer_again(tx: Transaction, channels: Collection[ChannelName]) -> int:
    """Parts that were on their way may have arrived; they leave once more, marked."""
    on_their_way = [
        row
        for row in tx.tables.parts.values()
        if row.state is PartState.SENDING
        and row.target.channel in channels
        and row.epoch is not None
        and row.epoch < tx.epoch
    ]
    for row in on_their_way:
        tx.tables.parts[row.part] = replace(row, state=PartState.PENDING, repeated=True)
    return len(on_their_way)

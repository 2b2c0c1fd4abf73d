"""The in-memory ledger's middle: claims, the journal of effects, settlement, and giving turns back."""

from collections.abc import Collection
from dataclasses import replace

from fermix.application.ports.ledger_errors import LedgerError, StaleTurn
from fermix.application.ports.outbox import SendingPart
from fermix.application.ports.turns import (
    ClaimedMessage,
    ClaimedTurn,
    Claims,
    EffectIntent,
    Settlement,
)
from fermix.domain import wording
from fermix.domain.ids import ChannelName, Generation, TurnId
from fermix.domain.lane import claimable_head
from fermix.domain.recovery import Repeat
from fermix.domain.turn import WAITING, Outcome, TurnState
from fermix.testing.memory.media import prepared_media
from fermix.testing.memory.moving import finish_moves
from fermix.testing.memory.parts import add_effect_part, add_parts, withdraw
from fermix.testing.memory.process import Process, Transaction
from fermix.testing.memory.steps import conclude, end_turn, interrupt, move
from fermix.testing.memory.tables import EffectRow, StoredMessage, Tables, TurnRow


class MemoryTurns:
    """The `Turns` port."""

    def __init__(self, *, process: Process) -> None:
        self._process = process

    async def claim(self, *, limit: int, channels: Collection[ChannelName]) -> Claims:
        """See `Turns.claim`. When slots are scarce, lanes served least recently are chosen first."""
        served = frozenset(channels)
        return await self._process.write(lambda tx: _claim(tx, limit, served), durable=False)

    async def begin_effect(self, effect: EffectIntent) -> SendingPart | None:
        """See `Turns.begin_effect`; a part behind an older open one is committed and `None` returned."""
        return await self._process.write(lambda tx: _begin_effect(tx, effect), durable=True)

    async def end_effect(self, turn: TurnId, *, generation: Generation, step: int, outcome: str) -> None:
        """See `Turns.end_effect`."""
        await self._process.write(lambda tx: _end_effect(tx, turn, generation, step, outcome), durable=False)

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        """See `Turns.settle`."""
        return await self._process.write(lambda tx: _settle(tx, settlement), durable=True)

    async def release(self, turn: TurnId, *, generation: Generation) -> bool:
        """See `Turns.release`."""
        return await self._process.write(lambda tx: _release(tx, turn, generation), durable=False)

    async def cancel(self, turn: TurnId) -> bool:
        """See `Turns.cancel`."""
        return await self._process.write(lambda tx: _cancel(tx, turn), durable=True)


def _claim(tx: Transaction, limit: int, channels: Collection[ChannelName]) -> Claims:
    finish_moves(tx)
    for turn in list(tx.tables.turns.values()):
        if turn.collect_until is None:
            continue
        begun = tx.tables.messages_of(turn.turn)[0].received_at
        due = turn.collect_until <= tx.now or begun > tx.now
        if due and turn.channel in channels:
            move(tx, turn, TurnState.QUEUED)
    heads = _heads(tx.tables, channels)
    fair = sorted(heads, key=lambda turn: (tx.tables.lanes[turn.lane].served, turn.turn))
    chosen = sorted(fair[: max(limit, 0)], key=lambda turn: turn.turn)
    collecting = [
        turn.collect_until
        for turn in tx.tables.turns.values()
        if turn.collect_until is not None and turn.channel in channels
    ]
    return Claims(
        turns=tuple(_start(tx, turn) for turn in chosen),
        next_due=min(collecting, default=None),
    )


def _heads(tables: Tables, channels: Collection[ChannelName]) -> list[TurnRow]:
    found = (
        claimable_head([tables.seen_by_lane(turn) for turn in tables.turns_of(lane)])
        for lane, row in tables.lanes.items()
        if row.route.channel in channels
    )
    return [tables.turns[head] for head in found if head is not None]


def _start(tx: Transaction, turn: TurnRow) -> ClaimedTurn:
    lane = tx.tables.lanes[turn.lane]
    lane = replace(lane, generation=Generation(lane.generation + 1), served=tx.tables.next("claim"))
    tx.tables.lanes[turn.lane] = lane
    started = replace(
        move(tx, turn, TurnState.STARTED, attempts=turn.attempts + 1),
        epoch=tx.epoch,
        generation=lane.generation,
        window=lane.window,
    )
    tx.tables.turns[turn.turn] = started
    return ClaimedTurn(
        turn=turn.turn,
        lane=turn.lane,
        route=lane.route,
        generation=lane.generation,
        attempts=started.attempts,
        window=lane.window,
        scope=turn.scope,
        awaited=turn.awaited,
        messages=tuple(_claimed_message(tx.tables, each) for each in tx.tables.read_in_order(turn.turn)),
        drafts=tx.tables.drafts_of(turn.turn),
    )


def _claimed_message(tables: Tables, message: StoredMessage) -> ClaimedMessage:
    if message.body is None or message.target is None:
        raise LedgerError(f"message {message.row} has no payload although its turn is not settled")
    return ClaimedMessage(
        row=message.row,
        message=message.body,
        target=message.target,
        trust=message.trust,
        media=prepared_media(tables, message.row),
    )


def claimed_turn(tx: Transaction, turn: TurnId, generation: Generation) -> TurnRow:
    """The turn, if this claim of it still stands.

    Raises:
        StaleTurn: it does not.
    """
    row = tx.tables.turns.get(turn)
    if (
        row is None
        or row.state is not TurnState.STARTED
        or row.epoch != tx.epoch
        or row.generation != generation
    ):
        raise StaleTurn(f"turn {turn} is not started under generation {generation} any more")
    return row


def _begin_effect(tx: Transaction, effect: EffectIntent) -> SendingPart | None:
    claimed_turn(tx, effect.turn, effect.generation)
    place = (effect.turn, effect.generation, effect.step)
    keeps_row = effect.repeat is not Repeat.HARMLESS
    if keeps_row and place in tx.tables.effects:
        raise LedgerError(f"effect {effect.step} of turn {effect.turn} was journalled before")
    row = EffectRow(
        turn=effect.turn,
        generation=effect.generation,
        step=effect.step,
        name=effect.name,
        repeat=effect.repeat,
        intent=effect.intent,
    )
    if keeps_row:
        tx.tables.effects[place] = row
    if effect.part is None:
        return None
    if effect.target is None:
        raise LedgerError("a part sent in mid-turn needs a target")
    return add_effect_part(tx, effect.part, target=effect.target, effect=row)


def _end_effect(tx: Transaction, turn: TurnId, generation: Generation, step: int, outcome: str) -> None:
    claimed_turn(tx, turn, generation)
    effect = tx.tables.effects.get((turn, generation, step))
    if effect is None:
        raise LedgerError(f"turn {turn} journalled no effect {step}")
    tx.tables.effects[turn, generation, step] = replace(effect, outcome=outcome)


def _settle(tx: Transaction, settlement: Settlement) -> tuple[SendingPart, ...]:
    turn = claimed_turn(tx, settlement.turn, settlement.generation)
    conclude(tx, turn, settlement.entries)
    end_turn(tx, turn, settlement.outcome, keep_bodies=settlement.keep_bodies)
    return add_parts(tx, settlement.parts, target=settlement.target, turn=turn.turn)


def _release(tx: Transaction, turn: TurnId, generation: Generation) -> bool:
    row = claimed_turn(tx, turn, generation)
    journalled = any(
        effect.turn == turn and effect.generation == generation and effect.repeat is not Repeat.ADOPT
        for effect in tx.tables.effects.values()
    )
    if row.awaited or journalled:
        return False
    move(tx, row, TurnState.QUEUED, attempts=row.attempts - 1)
    return True


def _cancel(tx: Transaction, turn: TurnId) -> bool:
    row = tx.tables.turns.get(turn)
    if row is not None and row.state in WAITING:
        end_turn(tx, row, Outcome.CANCELLED)
    elif row is not None and row.state is TurnState.STARTED:
        interrupt(tx, row, marker=wording.STOPPED_MARKER)
    else:
        return False
    withdraw(tx, turn)
    return True

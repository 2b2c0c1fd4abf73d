"""The ledger's middle: claims, the journal of effects, settlement, and giving turns back (T3 to T5)."""

from collections.abc import Collection

from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.outbox import SendingPart
from fermix.application.ports.turns import Claims, EffectIntent, Settlement
from fermix.domain import wording
from fermix.domain.ids import ChannelName, Generation, TurnId
from fermix.domain.recovery import Repeat
from fermix.domain.turn import WAITING, Outcome, TurnState
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.claims import claim
from fermix.infrastructure.persistence.sqlite.parts import add_effect_part, add_parts, withdraw
from fermix.infrastructure.persistence.sqlite.rows import (
    TurnRow,
    conclude,
    end_turn,
    interrupt,
    queue_again,
    turn_row,
)
from fermix.infrastructure.persistence.sqlite.transaction import Transaction
from fermix.infrastructure.persistence.sqlite.writer import Writer


class SqliteTurns:
    """The `Turns` port over the writer."""

    def __init__(self, *, writer: Writer) -> None:
        self._writer = writer

    async def claim(self, *, limit: int, channels: Collection[ChannelName]) -> Claims:
        """See `Turns.claim`. Not synced: a lost claim is one more replay of a turn that had no effect."""
        served = frozenset(channels)
        return await self._writer.do(lambda tx: claim(tx, limit=limit, channels=served), durable=False)

    async def begin_effect(self, effect: EffectIntent) -> SendingPart | None:
        """See `Turns.begin_effect`.

        A part behind an older open one of its target is committed as pending; then `None` is returned and
        the outbox brings it in its turn.
        """
        return await self._writer.do(lambda tx: _begin_effect(tx, effect), durable=True)

    async def end_effect(self, turn: TurnId, *, generation: Generation, step: int, outcome: str) -> None:
        """See `Turns.end_effect`. Not synced: lost, the effect counts as one without a known end."""
        await self._writer.do(
            lambda tx: _end_effect(tx, turn, generation=generation, step=step, outcome=outcome), durable=False
        )

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        """See `Turns.settle`."""
        return await self._writer.do(lambda tx: _settle(tx, settlement), durable=True)

    async def release(self, turn: TurnId, *, generation: Generation) -> bool:
        """See `Turns.release`. Not synced: lost, the next start finds a turn without effect and replays it."""
        return await self._writer.do(lambda tx: _release(tx, turn, generation), durable=False)

    async def cancel(self, turn: TurnId) -> bool:
        """See `Turns.cancel`."""
        return await self._writer.do(lambda tx: _cancel(tx, turn), durable=True)


def claimed_turn(tx: Transaction, turn: TurnId, generation: Generation) -> TurnRow:
    """The turn, if this claim of it still stands.

    Raises:
        StaleTurn: it does not.
    """
    row = turn_row(tx, turn)
    if (
        row is None
        or row.state is not TurnState.STARTED
        or (row.epoch, row.generation) != (tx.epoch, generation)
    ):
        raise StaleTurn(f"turn {turn} is not started under generation {generation} any more")
    return row


def _begin_effect(tx: Transaction, effect: EffectIntent) -> SendingPart | None:
    claimed_turn(tx, effect.turn, effect.generation)
    if effect.repeat is not Repeat.HARMLESS:
        tx.run(
            "INSERT INTO effects(turn, generation, step, name, repeat, intent) VALUES(?,?,?,?,?,?)",
            effect.turn,
            effect.generation,
            effect.step,
            effect.name,
            effect.repeat,
            codec.storable(effect.intent),
        )
    if effect.part is None:
        return None
    if effect.target is None:
        raise ValueError("a part sent in mid-turn needs a target")
    return add_effect_part(
        tx,
        effect.part,
        target=effect.target,
        turn=effect.turn,
        generation=effect.generation,
        step=effect.step,
    )


def _end_effect(tx: Transaction, turn: TurnId, *, generation: Generation, step: int, outcome: str) -> None:
    claimed_turn(tx, turn, generation)
    changed = tx.run(
        "UPDATE effects SET outcome=? WHERE turn=? AND generation=? AND step=?",
        codec.storable(outcome),
        turn,
        generation,
        step,
    )
    if not changed:
        raise LookupError(f"turn {turn} journalled no effect {step}")


def _settle(tx: Transaction, settlement: Settlement) -> tuple[SendingPart, ...]:
    turn = claimed_turn(tx, settlement.turn, settlement.generation)
    conclude(tx, turn, settlement.entries)
    end_turn(tx, turn, settlement.outcome, keep_bodies=settlement.keep_bodies)
    return add_parts(tx, settlement.parts, target=settlement.target, turn=turn.turn)


def _release(tx: Transaction, turn: TurnId, generation: Generation) -> bool:
    row = claimed_turn(tx, turn, generation)
    journalled = tx.row(
        "SELECT 1 FROM effects WHERE turn=? AND generation=? AND repeat<>'adopt' LIMIT 1", turn, generation
    )
    if row.awaited or journalled is not None:
        return False
    queue_again(tx, row, attempts=row.attempts - 1)
    return True


def _cancel(tx: Transaction, turn: TurnId) -> bool:
    row = turn_row(tx, turn)
    if row is None:
        return False
    if row.state in WAITING:
        end_turn(tx, row, Outcome.CANCELLED)
    elif row.state is TurnState.STARTED:
        interrupt(tx, row, marker=wording.STOPPED_MARKER)
    else:
        return False
    withdraw(tx, turn)
    return True

"""Drafts of turns that were ended from outside, in the in-memory ledger."""

from collections.abc import Callable, Collection
from dataclasses import replace

from fermix.application.ports.outbox import LeftDraft
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome, TurnState
from fermix.testing.memory.process import Transaction

_ENDED = frozenset({Outcome.INTERRUPTED, Outcome.CANCELLED, Outcome.REJECTED})


def take_left_drafts(tx: Transaction, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
    """See `Outbox.left_drafts`."""
    found: list[LeftDraft] = []
    for turn in list(tx.tables.turns.values()):
        if turn.state is not TurnState.SETTLED or turn.outcome not in _ENDED or turn.epoch >= tx.epoch:
            continue
        messages = tx.tables.read_in_order(turn.turn)
        target = messages[-1].target if messages else None
        if target is None or target.channel not in channels:
            continue
        found += [LeftDraft(target=target, draft=draft) for draft in tx.tables.drafts_of(turn.turn)]
        forget_drafts(tx, turn.turn)
    return tuple(found)


def forget_drafts(tx: Transaction, turn: TurnId, which: Callable[[str], bool] = lambda _: True) -> None:
    """These are drafts of the turn no longer."""
    for place, effect in list(tx.tables.effects.items()):
        is_draft = effect.turn == turn and effect.repeat is Repeat.ADOPT and effect.outcome is not None
        if is_draft and which(effect.outcome or ""):
            tx.tables.effects[place] = replace(effect, outcome=None)

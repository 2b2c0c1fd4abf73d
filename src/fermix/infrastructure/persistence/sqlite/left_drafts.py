"""Drafts of turns that were ended from outside, and that no reply will fill."""

from collections.abc import Collection

from fermix.application.ports.outbox import LeftDraft
from fermix.domain.ids import ChannelName, PlatformMessageId, TurnId
from fermix.infrastructure.persistence.sqlite.rows import drafts_of, messages_of
from fermix.infrastructure.persistence.sqlite.transaction import Transaction

_LEFT = """SELECT DISTINCT e.turn FROM effects e JOIN turns t ON t.turn=e.turn
  WHERE e.repeat='adopt' AND e.outcome IS NOT NULL AND t.state='settled' AND t.epoch<?
  AND t.outcome IN('interrupted','cancelled','rejected') ORDER BY e.turn"""
# Of a turn that ended otherwise a part has taken the draft's place, or its own task has removed it.


def take_left_drafts(tx: Transaction, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
    """See `Outbox.left_drafts`. A turn that this owner has claimed has a task that removes its draft."""
    found: list[LeftDraft] = []
    for (turn,) in tx.rows(_LEFT, tx.epoch):
        messages = messages_of(tx, TurnId(turn))
        if not messages or messages[-1].target.channel not in channels:
            continue
        found += [LeftDraft(target=messages[-1].target, draft=draft) for draft in drafts_of(tx, TurnId(turn))]
        tx.run("UPDATE effects SET outcome=NULL WHERE turn=? AND repeat='adopt'", turn)
    return tuple(found)


def is_taken_over(tx: Transaction, turn: TurnId, draft: PlatformMessageId) -> None:
    """A part takes the draft's place: it is a draft no longer."""
    tx.run("UPDATE effects SET outcome=NULL WHERE turn=? AND repeat='adopt' AND outcome=?", turn, draft)

"""Edits of messages that were admitted before (T2)."""

from dataclasses import replace

from fermix.application.ports.admissions import Amended
from fermix.domain import wording
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.ids import TurnId
from fermix.domain.message import InboundMessage
from fermix.domain.route import origin_of
from fermix.domain.turn import WAITING, MessageKind, Outcome
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.rows import remember, turn_row
from fermix.infrastructure.persistence.sqlite.transaction import Transaction

_NEVER_IN_HISTORY = frozenset({Outcome.CANCELLED, Outcome.REJECTED})


def amend(tx: Transaction, edited: InboundMessage, *, key: str) -> Amended | None:
    """Replace the text of a message still waiting, else leave a note in the history of its window.

    The same edit offered again (same stamp, same content) changes nothing; platforms stamp edits with whole
    seconds, so of two different ones with the same stamp the later to arrive counts. A caption that is gone leaves
    no note: an entry without words is none that a provider takes.
    """
    found = tx.row(
        "SELECT message, kind, turn, body, edited, digest FROM messages WHERE origin=? AND key=?",
        origin_of(edited),
        key,
    )
    if found is None or found[1] == MessageKind.COMMAND:
        return None
    row, _, turn, body, stamp_before, digest_before = found
    stamp = tx.now if edited.edited_at is None else codec.to_ms(edited.edited_at)
    if stamp < stamp_before or (stamp == stamp_before and edited.digest() == digest_before):
        return None
    done = _apply(tx, edited, row=row, turn=turn, body=body)
    if done is not None:
        tx.run("UPDATE messages SET edited=?, digest=? WHERE message=?", stamp, edited.digest(), row)
    return done


def _apply(
    tx: Transaction, edited: InboundMessage, *, row: int, turn: int | None, body: str | None
) -> Amended | None:
    owner = None if turn is None else turn_row(tx, TurnId(turn))
    if owner is not None and owner.state not in WAITING:
        if owner.outcome in _NEVER_IN_HISTORY:
            return None
        if edited.text.strip():
            remember(tx, owner, (MarkerEntry(text=wording.EDITED_NOTE), UserEntry(text=edited.text)))
        return Amended(replaced=False)
    if body is None:
        return None
    now_says = replace(
        codec.decode_message(body),
        text=edited.text,
        raw_text=edited.raw_text,
        mentions=edited.mentions,
        edited_at=edited.edited_at,
    )
    tx.run("UPDATE messages SET body=? WHERE message=?", codec.encode_message(now_says), row)
    return Amended(replaced=True)

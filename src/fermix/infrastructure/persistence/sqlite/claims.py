"""Claiming (T3): albums that have waited long enough, then the heads of lanes that may start."""

from collections.abc import Collection

import orjson

from fermix.application.ports.turns import ClaimedMessage, ClaimedTurn, Claims
from fermix.domain.ids import ChannelName, Generation, TurnId
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.media import media_of
from fermix.infrastructure.persistence.sqlite.moving import finish_moves
from fermix.infrastructure.persistence.sqlite.rows import (
    StoredMessage,
    drafts_of,
    known_turn,
    messages_of,
    route_of_lane,
)
from fermix.infrastructure.persistence.sqlite.transaction import Rows, Transaction

HEADS = """SELECT h.turn FROM
  (SELECT w.turn FROM
    (SELECT lane, min(turn) AS turn FROM turns WHERE state IN('collecting','queued') GROUP BY lane) w
    JOIN lanes l ON l.lane=w.lane ORDER BY l.served, w.turn LIMIT -1) h
  CROSS JOIN turns t ON t.turn=h.turn
  WHERE t.state='queued' AND t.channel IN (SELECT value FROM json_each(?))
  AND NOT EXISTS(SELECT 1 FROM turns a WHERE a.lane=t.lane AND a.state IN('started','unknown'))
  AND NOT EXISTS(SELECT 1 FROM messages m JOIN media d ON d.message=m.message
                 WHERE m.turn=t.turn AND d.state='waiting')
  LIMIT ?"""
"""The oldest waiting turn of each lane that may start, those of lanes served least recently first.

The inner list is sorted before anything else is looked at (its limit keeps SQLite from merging the two), so that
only as many lanes are looked at closely as there are free slots.
"""


def claim(tx: Transaction, *, limit: int, channels: Collection[ChannelName]) -> Claims:
    """Start up to `limit` heads of the served channels, oldest first.

    When slots are scarce, lanes served least recently are chosen: one lane's long queue holds no other back.
    An album from the future was begun before the clock was set back; how long it has waited, nobody knows.
    A lane has one head at most, and starting it changes no other lane, so one look finds all of them.
    """
    finish_moves(tx)
    served = orjson.dumps(sorted(channels)).decode()
    tx.run(
        "UPDATE turns SET state='queued', collect_until=NULL"
        " WHERE state='collecting' AND (collect_until<=? OR created_at>?)"
        " AND channel IN (SELECT value FROM json_each(?))",
        tx.now,
        tx.now,
        served,
    )
    heads = tx.rows(HEADS, served, limit) if limit > 0 else []
    claimed = tuple(_start(tx, TurnId(head)) for (head,) in sorted(heads))
    due = tx.value(
        "SELECT min(collect_until) FROM turns"
        " WHERE state='collecting' AND channel IN (SELECT value FROM json_each(?))",
        served,
    )
    return Claims(turns=claimed, next_due=None if due is None else codec.from_ms(due))


def _start(tx: Transaction, head: TurnId) -> ClaimedTurn:
    turn = known_turn(tx, head)
    ((generation, window),) = tx.rows(
        "UPDATE lanes SET generation=generation+1, served=(SELECT max(served)+1 FROM lanes) WHERE lane=?"
        " RETURNING generation, window",
        turn.lane,
    )
    tx.run(
        "UPDATE turns SET state='started', attempts=attempts+1, epoch=?, generation=?, window=? WHERE turn=?",
        tx.epoch,
        generation,
        window,
        turn.turn,
    )
    stored = messages_of(tx, turn.turn)
    tx.waiting.change(turn.lane, -len(stored))
    return ClaimedTurn(
        turn=turn.turn,
        lane=turn.lane,
        route=route_of_lane(tx, turn.lane),
        generation=Generation(generation),
        attempts=turn.attempts + 1,
        window=window,
        scope=turn.scope,
        awaited=turn.awaited,
        messages=tuple(_claimed(tx, message) for message in stored),
        drafts=drafts_of(tx, turn.turn),
    )


def _claimed(rows: Rows, stored: StoredMessage) -> ClaimedMessage:
    if stored.message is None:
        raise LookupError(f"message {stored.row} has no payload although its turn is not settled")
    return ClaimedMessage(
        row=stored.row,
        message=stored.message,
        target=stored.target,
        trust=stored.trust,
        media=media_of(rows, stored.row) if stored.message.attachments else (),
    )

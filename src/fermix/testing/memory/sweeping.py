"""Letting go of what is done with and old in the in-memory ledger."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice

from fermix.application.ports.ownership import Retention
from fermix.domain.turn import MessageKind, PartState, TurnState
from fermix.testing.memory.process import Transaction
from fermix.testing.memory.tables import PartRow, StoredMessage, Tables

_CLOSED = frozenset({PartState.SENT, PartState.FAILED, PartState.WITHDRAWN})


def sweep(tx: Transaction, retention: Retention, *, limit: int) -> int:
    """Let payloads, then parts, then messages with their turns go; returns how many rows, at most `limit`."""
    for key, row in list(tx.tables.gone.items()):
        if row.since < tx.now - retention.keys:
            del tx.tables.gone[key]
    bodies = list(islice(_old_bodies(tx.tables, tx.now - retention.bodies), limit))
    for message in bodies:
        tx.tables.messages[message.row] = replace(message, body=None)
    parts = list(islice(_old_parts(tx.tables, tx.now - retention.sent_parts), limit - len(bodies)))
    for part in parts:
        del tx.tables.parts[part.part]
    keys = list(islice(_old_keys(tx.tables, tx.now - retention.keys), limit - len(bodies) - len(parts)))
    for message in keys:
        _remove(tx.tables, message)
    return len(bodies) + len(parts) + len(keys)


def _old_bodies(tables: Tables, cutoff: datetime) -> Iterator[StoredMessage]:
    for message in tables.messages.values():
        turn = None if message.turn is None else tables.turns[message.turn]
        if message.body is None or message.received_at >= cutoff:
            continue
        if (
            message.kind is MessageKind.CONTEXT
            or (turn is not None and turn.state is TurnState.UNKNOWN)
            or (turn is not None and turn.settled_at is not None and turn.settled_at < cutoff)
        ):
            yield message


def _old_parts(tables: Tables, cutoff: datetime) -> Iterator[PartRow]:
    for part in tables.parts.values():
        turn = None if part.turn is None else tables.turns[part.turn]
        settled = turn is None or turn.state is TurnState.SETTLED
        if part.state in _CLOSED and part.created_at < cutoff and settled:
            yield part


def _old_keys(tables: Tables, cutoff: datetime) -> Iterator[StoredMessage]:
    for message in tables.messages.values():
        turn = None if message.turn is None else tables.turns[message.turn]
        over = (
            turn.state is TurnState.SETTLED
            if turn is not None
            else message.kind is MessageKind.CONTEXT or message.done
        )
        if over and message.received_at < cutoff:
            yield message


def _remove(tables: Tables, message: StoredMessage) -> None:
    del tables.messages[message.row]
    del tables.keys[message.origin, message.key]
    for place in [place for place in tables.media if place[0] == message.row]:
        del tables.media[place]
    turn = message.turn
    if turn is None or tables.messages_of(turn) or any(part.turn == turn for part in tables.parts.values()):
        return
    for step in [step for step in tables.effects if step[0] == turn]:
        del tables.effects[step]
    for number, entry in tables.entries.items():
        if entry.turn == turn:
            tables.entries[number] = replace(entry, turn=None)
    del tables.turns[turn]

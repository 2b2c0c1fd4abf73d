"""Letting go of what is done with and old (T11), a bounded number of rows at a time."""

from datetime import timedelta

from fermix.application.ports.ownership import Retention
from fermix.infrastructure.persistence.sqlite.gone import forget_old
from fermix.infrastructure.persistence.sqlite.transaction import Row, Rows, Transaction

_BEYOND_ALL = 2**62


def sweep(tx: Transaction, retention: Retention, *, limit: int) -> int:
    """Payloads, parts, then messages with their turns; returns how many rows were emptied or removed.

    Rows are looked through in order of their ids up to the first that is young enough, so that a sweep of a
    large ledger reads only what it may remove.
    """
    forget_old(tx, tx.now - retention.keys // timedelta(milliseconds=1))
    left = limit
    for step, age in ((_bodies, retention.bodies), (_parts, retention.sent_parts), (_keys, retention.keys)):
        left -= step(tx, tx.now - age // timedelta(milliseconds=1), left)
        if left <= 0:
            break
    return limit - left


def _first(tx: Transaction, sql: str, cutoff: int) -> int:
    """The id of the oldest row that is young enough; a number beyond all ids when there is none."""
    found = tx.row(sql, cutoff)
    return _BEYOND_ALL if found is None else int(found[0])


def _bodies(tx: Transaction, cutoff: int, limit: int) -> int:
    """Payloads kept for unknown and failed turns, and of messages that are only remembered."""
    fresh = _first(tx, "SELECT message FROM messages WHERE received_at>=? ORDER BY message LIMIT 1", cutoff)
    return tx.run(
        "UPDATE messages SET body=NULL WHERE message IN (SELECT m.message FROM messages m"
        " LEFT JOIN turns t ON t.turn=m.turn WHERE m.message<? AND m.body IS NOT NULL"
        " AND (m.kind='context' OR t.state='unknown' OR (t.state='settled' AND t.settled_at<?))"
        " ORDER BY m.message LIMIT ?)",
        fresh,
        cutoff,
        limit,
    )


def _parts(tx: Transaction, cutoff: int, limit: int) -> int:
    """Parts that are closed; those of a turn that is not settled still tell what it did."""
    fresh = _first(tx, "SELECT part FROM outbox WHERE created_at>=? ORDER BY part LIMIT 1", cutoff)
    return tx.run(
        "DELETE FROM outbox WHERE part IN (SELECT o.part FROM outbox o LEFT JOIN turns t ON t.turn=o.turn"
        " WHERE o.part<? AND o.state IN('sent','failed','withdrawn')"
        " AND (o.turn IS NULL OR t.state='settled') ORDER BY o.part LIMIT ?)",
        fresh,
        limit,
    )


def _keys(tx: Transaction, cutoff: int, limit: int) -> int:
    """Messages that are done with, each turn with its last message. History keeps what was said."""
    fresh = _first(tx, "SELECT message FROM messages WHERE received_at>=? ORDER BY message LIMIT 1", cutoff)
    old = tx.rows(
        "SELECT m.message, m.turn FROM messages m LEFT JOIN turns t ON t.turn=m.turn WHERE m.message<?"
        " AND (t.state='settled' OR (m.turn IS NULL AND (m.kind='context' OR m.done=1)))"
        " ORDER BY m.message LIMIT ?",
        fresh,
        limit,
    )
    for message, turn in old:
        tx.run("DELETE FROM media WHERE message=?", message)
        tx.run("DELETE FROM messages WHERE message=?", message)
        if turn is not None:
            _remove_if_unused(tx, turn)
    for (turn,) in _left_behind(tx, limit):
        _remove_if_unused(tx, turn)
    return len(old)


def _left_behind(rows: Rows, limit: int) -> list[Row]:
    """Settled turns without messages: a retry took these away, or a part was still open when they went."""
    return rows.rows(
        "SELECT turn FROM turns t WHERE turn<coalesce((SELECT min(turn) FROM messages), ?)"
        " AND state='settled' AND NOT EXISTS(SELECT 1 FROM outbox o WHERE o.turn=t.turn)"
        " ORDER BY turn LIMIT ?",
        _BEYOND_ALL,
        limit,
    )


def _remove_if_unused(tx: Transaction, turn: int) -> None:
    used = tx.row("SELECT 1 FROM messages WHERE turn=?1 UNION ALL SELECT 1 FROM outbox WHERE turn=?1", turn)
    if used is None:
        tx.run("DELETE FROM effects WHERE turn=?", turn)
        tx.run("DELETE FROM turns WHERE turn=?", turn)

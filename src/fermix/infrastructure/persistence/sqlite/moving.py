"""A chat goes on under another id: its conversations, and what is to be sent there, go along."""

from fermix.domain.delivery import for_another_chat
from fermix.domain.ids import LaneId
from fermix.domain.route import ChatMove, Route
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.rows import turns_where
from fermix.infrastructure.persistence.sqlite.transaction import Rows, Transaction

# A chat's key stands for itself and for its threads: `0` is the character after the `/` that a thread follows.
_ROUTES = """SELECT route, lane FROM routes
  WHERE route=?1 OR (route>?1||'/' AND route<?1||'0') ORDER BY route"""
_MOVE_MESSAGES = """UPDATE messages SET target=?2||substr(target, length(?1)+1), reply_to=NULL
  WHERE target=?1 OR (target>?1||'/' AND target<?1||'0')"""
_MOVE_PARTS = """UPDATE outbox SET target=?2||substr(target, length(?1)+1), reply_to=NULL
  WHERE target=?1 OR (target>?1||'/' AND target<?1||'0')"""
_OPEN_PARTS = """SELECT part, body FROM outbox WHERE state IN('pending','sending') AND body IS NOT NULL
  AND (target=?1 OR (target>?1||'/' AND target<?1||'0'))"""
_FORGET_DRAFTS = """UPDATE effects SET outcome=NULL WHERE repeat='adopt' AND turn IN(SELECT turn FROM turns
  WHERE state<>'settled' AND lane IN(SELECT lane FROM routes
    WHERE route=?1 OR (route>?1||'/' AND route<?1||'0')))"""


def move_chat(tx: Transaction, move: ChatMove) -> bool:
    """Let all that leads to the old chat lead to the new one; see `Admissions.move_chat`."""
    if move.old == move.new or not _routes_of(tx, move.old_chat):
        return False
    old, new = move.old_chat.key, move.new_chat.key
    tx.run("UPDATE moves SET new=? WHERE new=?", new, old)
    tx.run("DELETE FROM moves WHERE old=?", new)
    tx.run("INSERT INTO moves(old, new) VALUES(?,?) ON CONFLICT DO UPDATE SET new=excluded.new", old, new)
    _leave_drafts(tx, move)
    tx.run(_MOVE_MESSAGES, old, new)
    tx.run(_MOVE_PARTS, old, new)
    _move_lanes(tx, old, new)
    return True


def _leave_drafts(tx: Transaction, move: ChatMove) -> None:
    """What already shows a part of an answer stays in the old chat; nothing there can be written to any more."""
    tx.run(_FORGET_DRAFTS, move.old_chat.key)
    for part, body in tx.rows(_OPEN_PARTS, move.old_chat.key):
        moved = codec.encode_part(for_another_chat(codec.decode_part(body)))
        tx.run("UPDATE outbox SET body=? WHERE part=?", moved, part)


def finish_moves(tx: Transaction) -> None:
    """Join the conversations that had to wait for the end of a turn and need not any more."""
    for old, new in tx.rows("SELECT old, new FROM moves WHERE waiting=1 ORDER BY old"):
        _move_lanes(tx, old, new)


def _routes_of(rows: Rows, chat: Route) -> list[tuple[str, LaneId]]:
    return [(route, LaneId(lane)) for route, lane in rows.rows(_ROUTES, chat.key)]


def _move_lanes(tx: Transaction, old: str, new: str) -> None:
    waiting = False
    for route, lane in _routes_of(tx, codec.decode_route(old)):
        now = new + route.removeprefix(old)
        other = tx.row("SELECT lane FROM routes WHERE route=?", now)
        if other is None:
            tx.run("UPDATE routes SET route=? WHERE route=?", now, route)
        elif turns_where(tx, "lane=? AND state IN('started','unknown')", other[0]):
            waiting = True
        else:
            tx.run("DELETE FROM routes WHERE route=?", route)
            _join(tx, lane, LaneId(other[0]))
    tx.run("UPDATE moves SET waiting=? WHERE old=?", int(waiting), old)


def _join(tx: Transaction, lane: LaneId, other: LaneId) -> None:
    """Append the rows of `other`, of which nothing is running, to those of `lane`.

    Rows are ordered by their numbers, so they stand as they were written. The row of `other` stays, empty: its
    number must not be given to another conversation while somebody may still ask for its history.
    """
    shift = tx.value("SELECT window FROM lanes WHERE lane=?", lane)
    # An album of the old chat gets no more parts, and the other one may collect under the same name.
    tx.run("UPDATE turns SET state='queued', collect_until=NULL WHERE lane=? AND state='collecting'", lane)
    tx.run("UPDATE turns SET lane=?, window=window+? WHERE lane=?", lane, shift, other)
    tx.run("UPDATE messages SET lane=? WHERE lane=?", lane, other)
    tx.run("UPDATE entries SET lane=?, window=window+? WHERE lane=?", lane, shift, other)
    tx.run("UPDATE routes SET lane=? WHERE lane=?", lane, other)
    ((window, generation, title),) = tx.rows(
        "SELECT window, generation, title FROM lanes WHERE lane=?", other
    )
    tx.run(
        "UPDATE lanes SET window=window+?, generation=max(generation, ?), title=coalesce(title, ?) WHERE lane=?",
        window,
        generation,
        title,
        lane,
    )
    tx.run("UPDATE lanes SET archived=1 WHERE lane=?", other)
    count = tx.waiting.here(other)
    tx.waiting.change(other, -count)
    tx.waiting.change(lane, count)

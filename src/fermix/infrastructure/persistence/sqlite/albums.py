"""Albums: messages that arrive one by one and belong to one turn."""

from dataclasses import replace

from fermix.application.ports.admissions import Album, Input
from fermix.domain.capability import Scope
from fermix.domain.ids import LaneId, TurnId
from fermix.domain.lane import ALBUM_MAX_PARTS, collect_until
from fermix.domain.message import InboundMessage
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.transaction import Transaction


def join_or_open(tx: Transaction, lane: LaneId, item: Input, album: Album) -> TurnId:
    """The collecting turn of an album, with its wait begun anew; the last possible part ends the wait."""
    found = tx.row(
        "SELECT turn, snapshot, (SELECT count(*) FROM messages m WHERE m.turn=t.turn) FROM turns t"
        " WHERE lane=? AND album=? AND state='collecting'",
        lane,
        album.key,
    )
    parts = 1 if found is None else found[2] + 1
    until = codec.to_ms(collect_until(codec.from_ms(tx.now), debounce=album.debounce, parts=parts))
    if found is None:
        turn = tx.insert(
            "INSERT INTO turns(lane, channel, state, album, collect_until, awaited, epoch, snapshot,"
            " created_at) VALUES(?,?,'collecting',?,?,?,?,?,?)",
            lane,
            item.route.channel,
            album.key,
            until,
            int(item.awaited),
            tx.epoch,
            item.scope.encode(),
            tx.now,
        )
        return TurnId(turn)
    turn, snapshot, _ = found
    scope = lowest(Scope.decode(snapshot), item.scope)
    tx.run(
        "UPDATE turns SET collect_until=?, snapshot=?, awaited=max(awaited,?) WHERE turn=?",
        until,
        scope.encode(),
        int(item.awaited),
        turn,
    )
    if parts >= ALBUM_MAX_PARTS:
        _end(tx, turn)
    return TurnId(turn)


def end_by_later_message(
    tx: Transaction, lane: LaneId, message: InboundMessage, *, album: Album | None
) -> None:
    """A sender who goes on with something else has sent the whole album: it waits no longer."""
    found = tx.rows("SELECT turn, album FROM turns WHERE lane=? AND state='collecting'", lane)
    for turn, key in found:
        if album is not None and key == album.key:
            continue
        sender = tx.value("SELECT sender FROM messages WHERE turn=? ORDER BY message LIMIT 1", turn)
        if sender == codec.storable(message.sender.id or ""):
            _end(tx, turn)


def lowest(first: Scope, second: Scope) -> Scope:
    """What both scopes allow."""
    added = tuple(policy for policy in second.narrowing if policy not in first.narrowing)
    narrowed = first.narrowed(*added, trust=second.trust)
    return replace(narrowed, delegated=first.delegated or second.delegated)


def _end(tx: Transaction, turn: int) -> None:
    tx.run("UPDATE turns SET state='queued', collect_until=NULL WHERE turn=?", turn)

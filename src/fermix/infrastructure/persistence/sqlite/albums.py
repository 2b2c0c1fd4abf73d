"""Albums: messages that arrive one by one and belong to one turn."""

from collections.abc import Collection

import orjson

from fermix.application.ports.admissions import Album, Input
from fermix.domain.capability import Scope
from fermix.domain.ids import ChannelName, LaneId, TurnId
from fermix.domain.lane import ALBUM_MAX_PARTS, ALBUM_WAIT_AFTER_RESTART, collect_until, may_open_album
from fermix.domain.message import InboundMessage
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.transaction import Rows, Transaction


def is_collecting(rows: Rows, lane: LaneId, key: str) -> bool:
    """Whether an album waits for more of its parts."""
    return (
        rows.row("SELECT 1 FROM turns WHERE lane=? AND album=? AND state='collecting'", lane, key) is not None
    )


def may_open(rows: Rows, lane: LaneId) -> bool:
    """Whether one more album of this conversation can be waited for."""
    count = "SELECT count(*) FROM turns WHERE lane=? AND state='collecting'"
    return may_open_album(open_here=rows.value(count, lane))


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
    scope = Scope.decode(snapshot).within(item.scope)
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


def wait_on(tx: Transaction, channels: Collection[ChannelName]) -> None:
    """After a restart, wait for the parts that the platform offers again before an album counts as whole."""
    until = codec.to_ms(codec.from_ms(tx.now) + ALBUM_WAIT_AFTER_RESTART)
    tx.run(
        "UPDATE turns SET collect_until=max(collect_until, ?), epoch=? WHERE state='collecting' AND epoch<?"
        " AND channel IN (SELECT value FROM json_each(?))",
        until,
        tx.epoch,
        tx.epoch,
        orjson.dumps(sorted(channels)).decode(),
    )


def _end(tx: Transaction, turn: int) -> None:
    tx.run("UPDATE turns SET state='queued', collect_until=NULL WHERE turn=?", turn)

"""Attachments on their way to being ready (T3m): what waits, attempts, results."""

from collections.abc import Collection
from typing import assert_never

import orjson

from fermix.application.ports.admissions import MediaToPrepare
from fermix.application.ports.media_queue import MediaPlace, WaitingMedia
from fermix.application.ports.turns import PreparedMedia
from fermix.domain.authorization import Trust
from fermix.domain.blob import BlobRef
from fermix.domain.ids import ChannelName, LaneId, MessageRow, TurnId
from fermix.domain.incoming_media import (
    FileKept,
    MediaFailed,
    MediaProblem,
    MediaResult,
    PictureReady,
    Transcribed,
)
from fermix.domain.message import AttachmentKind
from fermix.domain.picture import Picture
from fermix.infrastructure.persistence.sqlite import codec
from fermix.infrastructure.persistence.sqlite.reader import Reader
from fermix.infrastructure.persistence.sqlite.transaction import Row, Rows, Transaction, Value
from fermix.infrastructure.persistence.sqlite.writer import Writer

_COLUMNS = (
    "state",
    "blob",
    "size_bytes",
    "mime_type",
    "width",
    "height",
    "transcript",
    "language",
    "error",
    "kind",
    "limit_bytes",
)
"""What a result is written to, in this order."""

_SELECT_WAITING = """SELECT d.message, d.position, d.reference, d.attempts, d.blob, d.size_bytes,
  w.turn, w.lane, w.channel, m.trust, m.body
  FROM (SELECT d.message, d.position, t.turn, t.lane, t.channel,
      row_number() OVER (PARTITION BY t.lane ORDER BY d.message, d.position) AS round
    FROM media d CROSS JOIN messages m ON m.message=d.message JOIN turns t ON t.turn=m.turn
    WHERE d.state='waiting' AND t.state IN('collecting','queued') AND m.body IS NOT NULL
    AND t.channel IN (SELECT value FROM json_each(?))
    ORDER BY round, d.message, d.position LIMIT ?) w
  CROSS JOIN media d ON d.message=w.message AND d.position=w.position
  JOIN messages m ON m.message=w.message ORDER BY w.round, w.message, w.position"""


class SqliteMediaQueue:
    """The `MediaQueue` port. Nothing here is synced: what a power cut takes is merely prepared again."""

    def __init__(self, *, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def waiting(self, *, channels: Collection[ChannelName], limit: int) -> tuple[WaitingMedia, ...]:
        """See `MediaQueue.waiting`."""
        served = orjson.dumps(sorted(channels)).decode()
        return await self._reader.ask(lambda rows: _waiting(rows, served, limit))

    async def begin(self, place: MediaPlace) -> bool:
        """See `MediaQueue.begin`."""
        return await self._writer.do(lambda tx: _begin(tx, place), durable=False)

    async def fetched(self, place: MediaPlace, content: BlobRef | None) -> None:
        """See `MediaQueue.fetched`."""
        await self._writer.do(
            lambda tx: tx.run(
                "UPDATE media SET blob=?, size_bytes=? WHERE message=? AND position=? AND state='waiting'",
                None if content is None else content.digest,
                None if content is None else content.size_bytes,
                place.row,
                place.position,
            ),
            durable=False,
        )

    async def prepared(self, row: MessageRow, media: PreparedMedia) -> None:
        """See `MediaQueue.prepared`."""
        await self._writer.do(lambda tx: _prepared(tx, row, media), durable=False)


def add_media(tx: Transaction, row: MessageRow, media: MediaToPrepare) -> None:
    """An attachment of a message that was just inserted."""
    tx.run(
        "INSERT INTO media(message, position, reference, state) VALUES(?,?,?,'waiting')",
        row,
        media.position,
        media.reference,
    )
    if media.prepared is not None:
        _prepared(tx, row, PreparedMedia(position=media.position, result=media.prepared))


def media_of(rows: Rows, row: MessageRow) -> tuple[PreparedMedia, ...]:
    """What became of a message's attachments, in order."""
    found = rows.rows(
        f"SELECT position, {', '.join(_COLUMNS)} FROM media"  # noqa: S608  # names of our own
        " WHERE message=? AND state<>'waiting' ORDER BY position",
        row,
    )
    return tuple(PreparedMedia(position=position, result=_result(tuple(rest))) for position, *rest in found)


def prepare_no_more(tx: Transaction, turn: TurnId) -> None:
    """Nobody waits for the attachments of a turn that has ended."""
    tx.run(
        "UPDATE media SET state='failed', error=?, blob=NULL, size_bytes=NULL WHERE state='waiting'"
        " AND message IN (SELECT message FROM messages WHERE turn=?)",
        MediaProblem.STOPPED,
        turn,
    )


def prepare_again(tx: Transaction, turn: TurnId) -> None:
    """Try what failed once more, for a turn that is to run again."""
    tx.run(
        "UPDATE media SET state='waiting', attempts=0, error=NULL, size_bytes=NULL WHERE state='failed'"
        " AND message IN (SELECT message FROM messages WHERE turn=?)",
        turn,
    )


def _waiting(rows: Rows, served: str, limit: int) -> tuple[WaitingMedia, ...]:
    return tuple(
        WaitingMedia(
            place=MediaPlace(row=MessageRow(message), position=position),
            turn=TurnId(turn),
            lane=LaneId(lane),
            channel=ChannelName(channel),
            reference=reference,
            attempts=attempts,
            trust=Trust(trust),
            message=codec.decode_message(body),
            fetched=None if blob is None else BlobRef(digest=blob, size_bytes=size),
        )
        for message, position, reference, attempts, blob, size, turn, lane, channel, trust, body in rows.rows(
            _SELECT_WAITING, served, limit
        )
    )


def _begin(tx: Transaction, place: MediaPlace) -> bool:
    return bool(
        tx.run(
            "UPDATE media SET attempts=attempts+1 WHERE message=? AND position=? AND state='waiting'",
            place.row,
            place.position,
        )
    )


def _prepared(tx: Transaction, row: MessageRow, media: PreparedMedia) -> None:
    tx.run(
        f"UPDATE media SET {', '.join(f'{name}=?' for name in _COLUMNS)}"  # noqa: S608  # names of our own
        " WHERE message=? AND position=? AND state='waiting'",
        *_written(media.result),
        row,
        media.position,
    )


def _written(result: MediaResult) -> tuple[Value, ...]:
    """The columns of a result, in the order of `_COLUMNS`."""
    match result:
        case Transcribed(text=text, foreign_language=language):
            spoken = None if language is None else codec.storable(language)
            return ("ready", None, None, None, None, None, codec.storable(text), spoken, None, None, None)
        case PictureReady(picture=picture):
            content, sides = picture.content, (picture.width, picture.height)
            kept = (content.digest, content.size_bytes, picture.mime_type)
            return ("ready", *kept, *sides, None, None, None, None, None)
        case FileKept(content=content, mime_type=mime_type):
            kept_file = (content.digest, content.size_bytes, mime_type)
            return ("ready", *kept_file, None, None, None, None, None, None, None)
        case MediaFailed(problem=problem, kind=kind, size_bytes=size, limit_bytes=limit):
            return ("failed", None, size, None, None, None, None, None, problem, kind, limit)
        case _:
            assert_never(result)


def _result(row: Row) -> MediaResult:
    """The result that `_written` wrote."""
    state, blob, size, mime_type, width, height, transcript, language, error, kind, limit = row
    if state == "failed":
        return MediaFailed(
            problem=MediaProblem(error),
            kind=AttachmentKind(kind or AttachmentKind.OTHER),
            size_bytes=size,
            limit_bytes=limit,
        )
    if transcript is not None:
        return Transcribed(text=transcript, foreign_language=language)
    content = BlobRef(digest=blob, size_bytes=size)
    if width is None:
        return FileKept(content=content, mime_type=mime_type)
    picture = Picture(content=content, mime_type=mime_type, width=width, height=height)
    return PictureReady(picture=picture)

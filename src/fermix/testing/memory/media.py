"""The in-memory ledger's attachments on their way to being ready."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from fermix.application.ports.admissions import MediaToPrepare
from fermix.application.ports.media_queue import MediaPlace, WaitingMedia
from fermix.application.ports.turns import PreparedMedia
from fermix.domain.blob import BlobRef
from fermix.domain.ids import ChannelName, LaneId, MessageRow, TurnId
from fermix.domain.incoming_media import MediaFailed, MediaProblem
from fermix.domain.message import AttachmentKind
from fermix.domain.turn import WAITING
from fermix.testing.memory.process import Process, Transaction
from fermix.testing.memory.tables import MediaRow, Tables


class MemoryMediaQueue:
    """The `MediaQueue` port."""

    def __init__(self, *, process: Process) -> None:
        self._process = process

    async def waiting(self, *, channels: Collection[ChannelName], limit: int) -> tuple[WaitingMedia, ...]:
        """See `MediaQueue.waiting`."""
        served = frozenset(channels)
        return await self._process.read(lambda tables: _waiting(tables, served, limit))

    async def begin(self, place: MediaPlace) -> bool:
        """See `MediaQueue.begin`."""
        return await self._process.write(
            lambda tx: _change(tx, place, lambda row: replace(row, attempts=row.attempts + 1)), durable=False
        )

    async def fetched(self, place: MediaPlace, content: BlobRef | None) -> None:
        """See `MediaQueue.fetched`."""
        await self._process.write(
            lambda tx: _change(tx, place, lambda row: replace(row, fetched=content)), durable=False
        )

    async def prepared(self, row: MessageRow, media: PreparedMedia) -> None:
        """See `MediaQueue.prepared`."""
        await self._process.write(lambda tx: _prepared(tx, row, media), durable=False)


def add_media(tx: Transaction, row: MessageRow, media: MediaToPrepare) -> None:
    """An attachment of a message that was just inserted."""
    known = None if media.prepared is None else PreparedMedia(position=media.position, result=media.prepared)
    tx.tables.media[row, media.position] = MediaRow(
        row=row, position=media.position, reference=media.reference, prepared=known
    )


def prepared_media(tables: Tables, row: MessageRow) -> tuple[PreparedMedia, ...]:
    """What became of a message's attachments, in order."""
    places = sorted(place for place in tables.media if place[0] == row)
    found = (tables.media[place].prepared for place in places)
    return tuple(each for each in found if each is not None)


def prepare_no_more(tx: Transaction, turn: TurnId) -> None:
    """Nobody waits for the attachments of a turn that has ended."""
    stopped = MediaFailed(problem=MediaProblem.STOPPED, kind=AttachmentKind.OTHER)
    for message in tx.tables.messages_of(turn):
        for place in [place for place in tx.tables.media if place[0] == message.row]:
            _prepared(tx, message.row, PreparedMedia(position=place[1], result=stopped))


def prepare_again(tx: Transaction, turn: TurnId) -> None:
    """Try what failed once more, for a turn that is to run again."""
    for message in tx.tables.messages_of(turn):
        for place, media in list(tx.tables.media.items()):
            failed = media.prepared is not None and isinstance(media.prepared.result, MediaFailed)
            if place[0] == message.row and failed:
                tx.tables.media[place] = replace(media, prepared=None, attempts=0)


def _waiting(tables: Tables, channels: Collection[ChannelName], limit: int) -> tuple[WaitingMedia, ...]:
    found = (_described(tables, media) for _, media in sorted(tables.media.items()))
    seen: Counter[LaneId] = Counter()
    rounds: list[tuple[int, WaitingMedia]] = []
    for each in found:
        if each is not None and each.channel in channels:
            seen[each.lane] += 1
            rounds.append((seen[each.lane], each))
    return tuple(each for _, each in sorted(rounds, key=lambda one: one[0]))[:limit]


def _described(tables: Tables, media: MediaRow) -> WaitingMedia | None:
    message = tables.messages[media.row]
    turn = None if message.turn is None else tables.turns[message.turn]
    if media.prepared is not None or turn is None or turn.state not in WAITING or message.body is None:
        return None
    return WaitingMedia(
        place=MediaPlace(row=media.row, position=media.position),
        turn=turn.turn,
        lane=turn.lane,
        channel=turn.channel,
        reference=media.reference,
        attempts=media.attempts,
        trust=message.trust,
        message=message.body,
        fetched=media.fetched,
    )


def _change(tx: Transaction, place: MediaPlace, change: Callable[[MediaRow], MediaRow]) -> bool:
    known = tx.tables.media.get((place.row, place.position))
    if known is None or known.prepared is not None:
        return False
    tx.tables.media[place.row, place.position] = change(known)
    return True


def _prepared(tx: Transaction, row: MessageRow, media: PreparedMedia) -> None:
    place = MediaPlace(row=row, position=media.position)
    _change(tx, place, lambda known: replace(known, prepared=media, fetched=None))

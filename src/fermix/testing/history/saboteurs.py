"""Ledgers with one planted fault each: a checker that does not find them proves nothing about the others."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from fermix.application.ports.admissions import Admission, Admissions, AdmitResult, Amended, CursorMove, Input
from fermix.application.ports.blobs import BlobNames
from fermix.application.ports.conversations import Conversations, QueueView
from fermix.application.ports.delegation import Delegation
from fermix.application.ports.media_queue import MediaPlace, MediaQueue, WaitingMedia
from fermix.application.ports.outbox import DueParts, LeftDraft, Outbox, PartEnd, SendingPart, Sent
from fermix.application.ports.ownership import Ownership, PausedTurn, Recovered, Retention, Takeover
from fermix.application.ports.turns import Claims, EffectIntent, PreparedMedia, Settlement, Turns
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import Part
from fermix.domain.ids import ChannelName, Generation, MessageRow, PartId, ThreadId, TurnId
from fermix.domain.message import InboundMessage
from fermix.domain.recovery import Repeat
from fermix.domain.route import ChatMove
from fermix.testing.history.promises import Promise
from fermix.testing.ledger_harness import OpenLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports of one ledger, each replaceable."""

    admissions: Admissions
    turns: Turns
    media: MediaQueue
    delegation: Delegation
    outbox: Outbox
    ownership: Ownership
    conversations: Conversations
    queue: QueueView
    blob_names: BlobNames

    @classmethod
    def of(cls, ledger: OpenLedger) -> "Ports":
        """The ports as they are."""
        return cls(
            admissions=ledger.admissions,
            turns=ledger.turns,
            media=ledger.media,
            delegation=ledger.delegation,
            outbox=ledger.outbox,
            ownership=ledger.ownership,
            conversations=ledger.conversations,
            queue=ledger.queue,
            blob_names=ledger.blob_names,
        )


Sabotage: TypeAlias = Callable[[OpenLedger], OpenLedger]


class _ForgetfulTurns:
    """Takes every effect for one that may be repeated."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    async def claim(self, *, limit: int, channels: Collection[ChannelName]) -> Claims:
        return await self._turns.claim(limit=limit, channels=channels)

    async def begin_effect(self, effect: EffectIntent) -> SendingPart | None:
        return await self._turns.begin_effect(replace(effect, repeat=Repeat.ADOPT))

    async def end_effect(self, turn: TurnId, *, generation: Generation, step: int, outcome: str) -> None:
        await self._turns.end_effect(turn, generation=generation, step=step, outcome=outcome)

    async def settle(self, settlement: Settlement) -> tuple[SendingPart, ...]:
        return await self._turns.settle(settlement)

    async def release(self, turn: TurnId, *, generation: Generation) -> bool:
        return await self._turns.release(turn, generation=generation)

    async def cancel(self, turn: TurnId) -> bool:
        return await self._turns.cancel(turn)


class _UnmarkingOutbox:
    """Hands out repeats as if for the first time."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def due(self, *, channels: Collection[ChannelName], limit: int) -> DueParts:
        due = await self._outbox.due(channels=channels, limit=limit)
        return replace(due, parts=_unmarked(due.parts))

    async def left_drafts(self, *, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
        return await self._outbox.left_drafts(channels=channels)

    async def done(self, part: PartId, end: PartEnd) -> SendingPart | None:
        following = await self._outbox.done(part, end)
        return None if following is None else replace(following, repeated=False)


class _UnmarkingOwnership:
    """Hands out the repeats of a recovery as if for the first time."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership

    async def take(self, *, instance: str, boot: str) -> Takeover:
        return await self._ownership.take(instance=instance, boot=boot)

    async def recover(self, *, channels: Collection[ChannelName]) -> Recovered:
        recovered = await self._ownership.recover(channels=channels)
        return replace(recovered, parts=_unmarked(recovered.parts))

    async def discard(self, paused: PausedTurn) -> None:
        await self._ownership.discard(paused)

    async def sweep(self, retention: Retention, *, limit: int = 500) -> int:
        return await self._ownership.sweep(retention, limit=limit)

    async def leave(self) -> None:
        await self._ownership.leave()


class _HastyAdmissions:
    """Gives texts a lane of their own, so that they do not wait for an album of their chat."""

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        return await self._admissions.admit([_hurried(item) for item in batch], cursor=cursor)

    async def amend(self, edited: InboundMessage, *, key: str) -> Amended | None:
        return await self._admissions.amend(edited, key=key)

    async def move_chat(self, move: ChatMove) -> bool:
        return await self._admissions.move_chat(move)

    async def finish_command(self, row: MessageRow, parts: Sequence[Part]) -> tuple[SendingPart, ...]:
        return await self._admissions.finish_command(row, parts)


class _CarelessAdmissions:
    """Takes every file for one that need not be waited for."""

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        return await self._admissions.admit([_bare(item) for item in batch], cursor=cursor)

    async def amend(self, edited: InboundMessage, *, key: str) -> Amended | None:
        return await self._admissions.amend(edited, key=key)

    async def move_chat(self, move: ChatMove) -> bool:
        return await self._admissions.move_chat(move)

    async def finish_command(self, row: MessageRow, parts: Sequence[Part]) -> tuple[SendingPart, ...]:
        return await self._admissions.finish_command(row, parts)


class _ForgetfulMedia:
    """Counts no attempt."""

    def __init__(self, media: MediaQueue) -> None:
        self._media = media

    async def waiting(self, *, channels: Collection[ChannelName], limit: int) -> tuple[WaitingMedia, ...]:
        found = await self._media.waiting(channels=channels, limit=limit)
        return tuple(replace(each, attempts=0) for each in found)

    async def begin(self, place: MediaPlace) -> bool:
        return await self._media.begin(place)

    async def fetched(self, place: MediaPlace, content: BlobRef | None) -> None:
        await self._media.fetched(place, content)

    async def prepared(self, row: MessageRow, media: PreparedMedia) -> None:
        await self._media.prepared(row, media)


class _DeafAdmissions:
    """Does not hear that a chat has another id."""

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        return await self._admissions.admit(batch, cursor=cursor)

    async def amend(self, edited: InboundMessage, *, key: str) -> Amended | None:
        return await self._admissions.amend(edited, key=key)

    async def move_chat(self, move: ChatMove) -> bool:
        return bool(move.old)

    async def finish_command(self, row: MessageRow, parts: Sequence[Part]) -> tuple[SendingPart, ...]:
        return await self._admissions.finish_command(row, parts)


class _DeafOutbox:
    """Does not hear where a part arrived."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def due(self, *, channels: Collection[ChannelName], limit: int) -> DueParts:
        return await self._outbox.due(channels=channels, limit=limit)

    async def left_drafts(self, *, channels: Collection[ChannelName]) -> tuple[LeftDraft, ...]:
        return await self._outbox.left_drafts(channels=channels)

    async def done(self, part: PartId, end: PartEnd) -> SendingPart | None:
        heard = replace(end, moved_to=None) if isinstance(end, Sent) else end
        return await self._outbox.done(part, heard)


def _unmarked(parts: Sequence[SendingPart]) -> tuple[SendingPart, ...]:
    return tuple(replace(part, repeated=False) for part in parts)


def _bare(item: Admission) -> Admission:
    return replace(item, media=()) if isinstance(item, Input) else item


def _hurried(item: Admission) -> Admission:
    if isinstance(item, Input) and item.album is None:
        return replace(item, route=replace(item.route, thread=ThreadId("overtaking")))
    return item


def replays_blindly(ledger: OpenLedger) -> OpenLedger:
    """Runs a turn again although it did something that a repeat does twice."""
    return replace(Ports.of(ledger), turns=_ForgetfulTurns(ledger.turns))


def hides_repeats(ledger: OpenLedger) -> OpenLedger:
    """Does not say that a part may have been sent before."""
    return replace(
        Ports.of(ledger),
        outbox=_UnmarkingOutbox(ledger.outbox),
        ownership=_UnmarkingOwnership(ledger.ownership),
    )


def overtakes_albums(ledger: OpenLedger) -> OpenLedger:
    """Lets a younger text start before an album that still collects."""
    return replace(Ports.of(ledger), admissions=_HastyAdmissions(ledger.admissions))


def leaves_chats_behind(ledger: OpenLedger) -> OpenLedger:
    """Takes a chat that has another id by now for a new one."""
    return replace(
        Ports.of(ledger),
        admissions=_DeafAdmissions(ledger.admissions),
        outbox=_DeafOutbox(ledger.outbox),
    )


def starts_unprepared(ledger: OpenLedger) -> OpenLedger:
    """Starts turns without what came with their messages."""
    return replace(Ports.of(ledger), admissions=_CarelessAdmissions(ledger.admissions))


def tries_for_ever(ledger: OpenLedger) -> OpenLedger:
    """Does not know how often a file was tried."""
    return replace(Ports.of(ledger), media=_ForgetfulMedia(ledger.media))


SABOTEURS: Mapping[str, Sabotage] = MappingProxyType(
    {
        "replays_blindly": replays_blindly,
        "hides_repeats": hides_repeats,
        "overtakes_albums": overtakes_albums,
        "leaves_chats_behind": leaves_chats_behind,
        "starts_unprepared": starts_unprepared,
        "tries_for_ever": tries_for_ever,
    }
)
"""All of them by name."""

BREAKS: Mapping[str, Promise] = MappingProxyType(
    {
        "replays_blindly": Promise.EFFECTS_ONCE,
        "hides_repeats": Promise.REPEATS_MARKED,
        "overtakes_albums": Promise.ORDER_KEPT,
        "leaves_chats_behind": Promise.ONE_ACTIVE_TURN,
        "starts_unprepared": Promise.MEDIA_READY,
        "tries_for_ever": Promise.PREPARED_ONCE,
    }
)
"""The promise that each of them breaks, by which a history finds it."""

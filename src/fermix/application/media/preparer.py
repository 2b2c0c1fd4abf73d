"""Preparing what people send as soon as it is admitted: a task for each file, few at a time, each ending alone."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import anyio
from anyio.abc import TaskGroup

from fermix.application.media.attempt import Fetched, GivenUp, Made, Ready, TryAgain, pause_after
from fermix.application.media.fetching import FetchMedia
from fermix.application.media.making import MakeMedia
from fermix.application.media.measuring import Measured, MediaMeter
from fermix.application.patience import until_stored
from fermix.application.ports.clock import Clock
from fermix.application.ports.ledger_errors import LedgerError, LedgerUnavailable
from fermix.application.ports.media_queue import MediaPlace, MediaQueue, WaitingMedia
from fermix.application.ports.telemetry import UNHEARD, Telemetry, about_turn
from fermix.application.ports.turns import PreparedMedia
from fermix.application.wakeup import Wakeup
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.incoming_media import (
    MAX_ATTEMPTS,
    MediaFailed,
    MediaProblem,
    Recognised,
    Transcribed,
)
from fermix.domain.message import AttachmentKind, InboundMessage

_log = logging.getLogger("fermix.media")

_PAUSE = timedelta(seconds=1)
_LEDGER_PAUSE = timedelta(seconds=5)

_CRASHED = {
    AttachmentKind.AUDIO: MediaProblem.NOT_TRANSCRIBED,
    AttachmentKind.IMAGE: MediaProblem.NOT_A_PICTURE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message that was nothing but a recording, with what was said in it."""

    message: InboundMessage
    text: str
    turn: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldOfMedia:
    """Who is told what preparing has come to.

    Attributes:
        prepared: something is ready, or never will be: its turn may start now.
        spoken: asked whether what was said is a command; if it was, it is done, and its turn has ended.
    """

    prepared: Callable[[], None]
    spoken: Callable[[Spoken], Awaitable[bool]]


@dataclass(slots=True, kw_only=True)
class _Running:
    media: WaitingMedia
    scope: anyio.CancelScope
    counted: bool = False


class Preparer:
    """Works on the attachments that wait in the ledger, the oldest of each conversation first.

    What fails is tried again after a pause, as often as the domain says; each attempt is counted before it begins.
    Neither channels nor conversations wait for each other: a download that hangs, a platform that is away, a
    hundred voice notes at once hold their own.
    """

    def __init__(
        self,
        *,
        queue: MediaQueue,
        fetch: FetchMedia,
        make: MakeMedia,
        clock: Clock,
        channels: Collection[ChannelName],
        telemetry: Telemetry = UNHEARD,
    ) -> None:
        self._queue = queue
        self._fetch = fetch
        self._make = make
        self._clock = clock
        self._channels = frozenset(channels)
        self._meter = MediaMeter(telemetry=telemetry, clock=clock)
        limits = make.limits
        self._at_once, self._of_conversation = limits.at_once, limits.conversation
        self._downloads = {name: anyio.CapacityLimiter(limits.downloads) for name in self._channels}
        self._work = {
            AttachmentKind.AUDIO: anyio.CapacityLimiter(limits.recordings),
            AttachmentKind.IMAGE: anyio.CapacityLimiter(limits.pictures),
        }
        self._wakeup = Wakeup(clock)
        self._running: dict[MediaPlace, _Running] = {}
        self._resting: dict[MediaPlace, datetime] = {}
        self._left: set[MediaPlace] = set()
        self._open = True

    def wake(self) -> None:
        """Look for what is to be prepared."""
        self._wakeup.wake()

    def running(self) -> int:
        """How many files are being worked on, or wait for their place among these."""
        return len(self._running)

    def ended(self, turn: TurnId) -> None:
        """Stop working for a turn that was stopped, or whose asker left."""
        for one in self._running.values():
            if one.media.turn == turn:
                one.scope.cancel()

    def close(self) -> None:
        """Stop all work and begin none; the next start goes on from what is in the ledger."""
        self._open = False
        for one in self._running.values():
            one.scope.cancel()

    async def run(self, told: ToldOfMedia) -> None:
        """Serve until cancelled; errors that end the process pass through."""
        async with anyio.create_task_group() as tasks:
            due: datetime | None = None
            while True:
                await self._wakeup.wait(due)
                due = await self._start_waiting(tasks, told)

    async def _start_waiting(self, tasks: TaskGroup, told: ToldOfMedia) -> datetime | None:
        """Start what can be started; returns when to look again at the latest."""
        now = self._clock.now()
        self._resting = {place: until for place, until in self._resting.items() if until > now}
        self._left.clear()
        try:
            for channel in self._channels:
                for media in await self._next_of(channel):
                    running = _Running(media=media, scope=anyio.CancelScope())
                    self._running[media.place] = running
                    tasks.start_soon(self._one, running, told, name=f"media {media.place}")
        except LedgerUnavailable as exc:
            _log.warning("media.listing_waits", extra={"cause": str(exc) or type(exc).__name__})
            return now + _PAUSE
        return min(self._resting.values(), default=None)

    async def _next_of(self, channel: ChannelName) -> Sequence[WaitingMedia]:
        """What is to be started of one channel, whose files take no places of another's."""
        busy = sum(one.media.channel == channel for one in self._running.values())
        free = self._at_once - busy
        if free <= 0 or not self._open:
            return ()
        most = free + busy + len(self._resting)
        waiting = await self._queue.waiting(channels=(channel,), limit=most)
        if not self._open:
            return ()
        # What was left while the list was read may still stand on it, though it is prepared by now.
        known = self._running.keys() | self._resting.keys() | self._left
        return self._fair_share([each for each in waiting if each.place not in known])[:free]

    def _fair_share(self, waiting: Sequence[WaitingMedia]) -> list[WaitingMedia]:
        """Those that may start without a conversation having more files on their way than it may."""
        on_their_way = Counter(one.media.lane for one in self._running.values())
        chosen: list[WaitingMedia] = []
        for media in waiting:
            on_their_way[media.lane] += 1
            if on_their_way[media.lane] <= self._of_conversation:
                chosen.append(media)
        return chosen

    async def _one(self, running: _Running, told: ToldOfMedia) -> None:
        media = running.media
        try:
            with about_turn(media.turn), running.scope:
                await self._prepare(running, told)
        finally:
            del self._running[media.place]
            self._left.add(media.place)
            self._wakeup.wake()

    async def _prepare(self, running: _Running, told: ToldOfMedia) -> None:
        media = running.media
        with self._meter.measuring(media) as measured:
            made = await self._attempt(running, told, measured)
            if made is None or (isinstance(made, TryAgain) and self._rests(media, made)):
                return
            if not isinstance(made, Ready):
                problem = made.result.problem.value
                _log.warning("media.failed", extra=_facts(media, problem=problem, cause=made.cause))
            measured.ended(made.result)
        prepared = PreparedMedia(position=media.place.position, result=made.result)
        await until_stored(
            self._clock, "prepared media", lambda: self._queue.prepared(media.place.row, prepared)
        )
        told.prepared()

    def _rests(self, media: WaitingMedia, made: TryAgain) -> bool:
        """Let it rest until its next attempt, if it has one."""
        pause = pause_after(made, attempts=media.attempts + 1)
        if pause is None:
            return False
        facts = _facts(media, cause=made.cause, pause_seconds=pause.total_seconds())
        _log.warning("media.tried_again_later", extra=facts)
        self._resting[media.place] = self._clock.now() + pause
        return True

    async def _attempt(self, running: _Running, told: ToldOfMedia, measured: Measured) -> Made | None:
        """One attempt, which counts; `None` when there is nothing to record of it.

        That is when nobody waits for it any more, as when it was a command that was said; and when the ledger is
        away, which is no fault of the file and costs it no attempt.
        """
        try:
            made = await self._tried(running, told, measured)
            if isinstance(made, TryAgain) and not await self._counts(running):
                return None
            return made
        except LedgerUnavailable as exc:
            _log.warning(
                "media.ledger_waits", extra=_facts(running.media, cause=str(exc) or type(exc).__name__)
            )
            self._resting[running.media.place] = self._clock.now() + _LEDGER_PAUSE
            return None

    async def _counts(self, running: _Running) -> bool:
        """Have the attempt counted, once; false when nobody waits for it any more."""
        running.counted = running.counted or await self._queue.begin(running.media.place)
        return running.counted

    async def _tried(self, running: _Running, told: ToldOfMedia, measured: Measured) -> Made | None:
        media = running.media
        refused = self._make.refused_unseen(media) or self._fetch.refused_unseen(media)
        if refused is not None:
            return GivenUp(result=refused, cause="refused before it was fetched")
        given_up = _crashed(media, "it was tried too often without an end")
        if media.attempts >= MAX_ATTEMPTS:
            return given_up
        try:
            made = await self._fetch_and_make(running)
            if isinstance(made, Ready) and isinstance(made.result, Transcribed):
                measured.ended(made.result)
                return None if await _was_a_command(media, made.result, told) else made
            return made
        except LedgerError:
            raise
        except Exception as exc:  # noqa: BLE001  # a bug in one adapter must neither end the gateway nor hold a lane
            _log.exception("media.crashed", extra=_facts(media))
            return TryAgain(result=given_up.result, cause=type(exc).__name__)

    async def _fetch_and_make(self, running: _Running) -> Made | None:
        media = running.media
        content = media.fetched
        if content is None:
            async with self._downloads[media.channel]:
                if not await self._counts(running):
                    return None
                fetched = await self._fetch(media)
            if not isinstance(fetched, Fetched):
                return fetched
            content = fetched.content
            await self._queue.fetched(media.place, content)
        found = await self._make.look(media, content)
        if isinstance(found, Recognised):
            async with self._work.get(found.kind, self._downloads[media.channel]):
                if not await self._counts(running):
                    return None
                found = await self._make(media, content, found)
        if isinstance(found, TryAgain) and found.forgets:
            await self._queue.fetched(media.place, None)
        return found


async def _was_a_command(media: WaitingMedia, said: Transcribed, told: ToldOfMedia) -> bool:
    """Have a recording that was sent without words of its own looked at for a command, and that command done."""
    message = media.message
    if message.text.strip() or message.album is not None:
        return False
    return await told.spoken(Spoken(message=message, text=said.text, turn=media.turn))


def _crashed(media: WaitingMedia, cause: str) -> GivenUp:
    kind = media.attachment.kind
    problem = _CRASHED.get(kind, MediaProblem.NOT_FETCHED)
    return GivenUp(result=MediaFailed(problem=problem, kind=kind), cause=cause)


def _facts(media: WaitingMedia, **more: object) -> dict[str, object]:
    return {
        "channel": media.channel,
        "kind": media.attachment.kind.value,
        "attempt": media.attempts + 1,
        **more,
    }

"""From the gateway connection to the inbox: in order, until taken, and what was missed is read back first.

What is heard is queued before anything is awaited. It counts as read when the inbox has taken it: the place in
each chat is committed with the messages, and a next process reads on from there.
"""

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio

from fermix.application.ports.admissions import LISTENING, CursorMove
from fermix.application.ports.channel import Inbox, Offered, Verdict
from fermix.application.ports.clock import Clock
from fermix.domain.ids import AccountId
from fermix.domain.normalise import RawMessage
from fermix.infrastructure.channels.discord.answers import Answers, Pending
from fermix.infrastructure.channels.discord.cursor import Place, Places, read_places
from fermix.infrastructure.channels.discord.history import History
from fermix.infrastructure.channels.discord.interactions import read_interaction
from fermix.infrastructure.channels.discord.wire_in import (
    OddEvent,
    OurBot,
    Room,
    read_edit,
    read_message,
    read_us,
)

MAX_QUEUED = 1000
"""Events that wait for the inbox; what comes beyond is read back when it has taken those."""

MAX_BATCH = 50
MAX_TAKEN = 5000
"""Messages that are known as taken, so that none is offered twice in one life."""

FIRST_PAUSE = timedelta(seconds=0.25)
LONGEST_PAUSE = timedelta(seconds=30)
"""Between two offers while the inbox takes nothing."""

_NOT_TAKEN = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})
_ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_log = logging.getLogger("fermix.discord")

_Read = Callable[[Mapping[str, Any], OurBot, Room], RawMessage | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """Something for the inbox.

    Attributes:
        chat: where, and `place` what is read with it, of a message that was written; of what is done or
            changed nothing can be read back.
        counts: the place is worth a commit: it was written to us.
        pending: waits for the verdict.
    """

    raw: RawMessage
    chat: str = ""
    place: Place | None = None
    counts: bool = False
    pending: Pending | None = None


class Inflow:
    """One bot's way in; it outlives connections. Implements `Ears`."""

    def __init__(
        self,
        *,
        account: AccountId,
        history: History,
        answers: Answers,
        clock: Clock,
        room: Callable[[object], Room],
    ) -> None:
        self._origin = f"discord:{account}"
        self._history = history
        self._answers = answers
        self._clock = clock
        self._room = room
        self._queue: deque[_Heard] = deque()
        self._taken: OrderedDict[int, None] = OrderedDict()
        self._places = Places()
        self._us: OurBot | None = None
        self._odd = 0
        self._greeted = False
        self._missed = True
        self._pause = FIRST_PAUSE
        self._news = anyio.Event()
        self._begun = anyio.Event()

    async def known(self) -> OurBot:
        """Who we are, once a session has begun."""
        await self._begun.wait()
        if self._us is None:
            raise RuntimeError("a session began for nobody")
        return self._us

    def ready(self, data: Mapping[str, Any]) -> None:
        """See `Ears`."""
        self._us = read_us(data)
        self._begun.set()
        self._missed = True
        self.resumed()

    def resumed(self) -> None:
        """See `Ears`."""
        self._greeted = True
        self._news.set()

    def written(self, data: Mapping[str, Any]) -> None:
        """See `Ears`."""
        self._hear(data, read_message, is_new=True)

    def changed(self, data: Mapping[str, Any]) -> None:
        """See `Ears`."""
        self._hear(data, read_edit, is_new=False)

    def done(self, data: Mapping[str, Any]) -> None:
        """See `Ears`."""
        if self._us is None:
            raise OddEvent("an interaction before the session")
        read = read_interaction(data, self._us, self._room(data.get("channel_id")))
        if read is not None:
            interaction, raw = read
            self._push(_Heard(raw=raw, pending=self._answers.expect(interaction)))

    def unreadable(self, event: str) -> None:
        """See `Ears`."""
        _log.error("discord.event_unreadable", extra={"error": event})
        self._odd += 1
        self._news.set()

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        """Offer what is heard until cancelled, from the cursor on.

        Raises:
            ChannelUnreachable: what was missed cannot be read.
        """
        self._places = self._places.merged(read_places(cursor))
        while True:
            self._tell_odd(inbox)
            if self._missed and self._us is not None:
                await self._catch_up(inbox, self._us)
            if self._queue:
                await self._offer(inbox)
                continue
            if self._greeted:
                await self._accept(inbox, ())
            await self._news.wait()
            self._news = anyio.Event()

    def _hear(self, data: Mapping[str, Any], read: _Read, *, is_new: bool) -> None:
        if self._us is None:
            raise OddEvent("a message before the session")
        raw = read(data, self._us, self._room(data.get("channel_id")))
        if raw is not None:
            self._push(_heard(raw) if is_new else _Heard(raw=raw))

    def _push(self, heard: _Heard) -> None:
        if len(self._queue) < MAX_QUEUED:
            self._queue.append(heard)
        else:
            self._missed = True
        self._news.set()

    def _tell_odd(self, inbox: Inbox) -> None:
        odd, self._odd = self._odd, 0
        for _ in range(odd):
            inbox.unreadable()

    async def _catch_up(self, inbox: Inbox, us: OurBot) -> None:
        """Offer what was written in the known chats while nobody listened; what is heard meanwhile waits."""
        self._missed = False
        try:
            for chat, place in self._places.chats.items():
                messages = await self._history.behind(chat, place)
                if messages is None:
                    self._places = self._places.without(chat)
                    continue
                found = [heard for data in messages if (heard := self._read_back(data, us, chat, place))]
                while found:
                    found = await self._take(inbox, found)
        except BaseException:
            self._missed = True
            raise

    def _read_back(self, data: Mapping[str, Any], us: OurBot, chat: str, place: Place) -> _Heard | None:
        known = self._room(chat)
        room = Room(title=known.title, parent=known.parent, guild=place.guild)
        try:
            raw = read_message(data, us, room)
        except _ODD as exc:
            self.unreadable(type(exc).__name__)
            return None
        return None if raw is None else _heard(raw)

    async def _offer(self, inbox: Inbox) -> None:
        """Offer the front of the queue; it leaves when it is taken."""
        batch = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_BATCH))]
        try:
            left = await self._take(inbox, batch)
        except BaseException:
            self._queue.extendleft(reversed(batch))
            raise
        self._queue.extendleft(reversed(left))

    async def _take(self, inbox: Inbox, batch: Sequence[_Heard]) -> list[_Heard]:
        """Offer a list, but what was taken before; returns what is to be offered again, after a pause."""
        fresh = [heard for heard in batch if heard.place is None or heard.place.message not in self._taken]
        if not fresh:
            return []
        verdicts = await self._accept(inbox, fresh)
        for number, (heard, verdict) in enumerate(zip(fresh, verdicts, strict=True)):
            if verdict in _NOT_TAKEN:
                await self._rest()
                return fresh[number:]
            self._note(heard, verdict)
        self._pause = FIRST_PAUSE
        return []

    async def _accept(self, inbox: Inbox, batch: Sequence[_Heard]) -> Sequence[Verdict]:
        """Hand over a list, also an empty one: it says that Discord is heard."""
        self._greeted = False
        return await inbox.accept([Offered(message=heard.raw) for heard in batch], cursor=self._cursor(batch))

    def _cursor(self, batch: Sequence[_Heard]) -> CursorMove | None:
        """How far everything is read with this list; what others say among themselves is not worth a commit."""
        if not any(heard.counts for heard in batch):
            return None
        places = self._places
        for heard in batch:
            if heard.place is not None and (heard.counts or heard.chat in places.chats):
                places = places.moved(heard.chat, heard.place)
        return CursorMove(origin=self._origin, scope=LISTENING, value=places.text)

    def _note(self, heard: _Heard, verdict: Verdict) -> None:
        if heard.pending is not None:
            heard.pending.decide(verdict)
        if heard.place is None:
            return
        self._taken[heard.place.message] = None
        while len(self._taken) > MAX_TAKEN:
            self._taken.popitem(last=False)
        if verdict is not Verdict.DROPPED or heard.chat in self._places.chats:
            self._places = self._places.moved(heard.chat, heard.place)

    async def _rest(self) -> None:
        _log.warning("discord.waits_for_gateway", extra={"pause": self._pause.total_seconds()})
        await self._clock.sleep_until(self._clock.now() + self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def _heard(raw: RawMessage) -> _Heard:
    """A message that was written; it counts when it is for us."""
    guild = raw.get("guild")
    is_for_us = guild is None or any(mention.get("is_us") for mention in raw["mentions"])
    return _Heard(
        raw=raw,
        chat=str(raw["chat_id"]),
        place=Place(message=int(raw["id"]), guild=None if guild is None else str(guild)),
        counts=is_for_us and not raw["sender_is_bot"],
    )

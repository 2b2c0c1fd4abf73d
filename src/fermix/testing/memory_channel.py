"""A messaging platform in memory, and the channel that polls it: the quickest far side of a gateway.

    platform = MemoryPlatform()
    channel = MemoryChannel(platform, clock=clock)
    platform.user_writes("hello")
    (part,) = await platform.saw(1)

The platform offers a message until it is acknowledged, and can be told what to do with the next part it is sent.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

import anyio
import anyio.lowlevel

from fermix.application.ports.channel import (
    ChannelFeatures,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    Delivered,
    Inbox,
    Offered,
    OutgoingPart,
    Verdict,
)
from fermix.application.ports.clock import Clock
from fermix.domain.ids import AccountId, PlatformMessageId
from fermix.domain.normalise import RawMessage

AT_ONCE = 100
"""Messages in one poll."""

PAUSE = timedelta(milliseconds=100)
"""Between two polls when the inbox takes nothing."""

_KEPT = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A message as the platform keeps it; its offset counts from 1."""

    offset: int
    text: str
    chat: str
    user: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stall:
    """No answer comes."""


_Fault: TypeAlias = ChannelRateLimited | ChannelUnreachable | ChannelRejected | ChannelOutcomeUnknown | _Stall


class MemoryPlatform:
    """The far side; belongs to one event loop. Outlives the channels over it, as a platform outlives a gateway.

    Attributes:
        shown: every part that people see, in order.
        tries: how often a part was sent.
    """

    def __init__(self) -> None:
        self.shown: list[OutgoingPart] = []
        self.tries = 0
        self._written: list[Written] = []
        self._acknowledged = 0
        self._faults: deque[_Fault] = deque()
        self._stalled = 0
        self._changed = anyio.Event()

    def user_writes(self, *texts: str, chat: str = "7", user: str = "42", name: str = "Ann") -> None:
        """Somebody writes these messages, in this order."""
        for text in texts:
            offset = len(self._written) + 1
            self._written.append(Written(offset=offset, text=text, chat=chat, user=user, name=name))
        self._change()

    async def saw(self, count: int) -> Sequence[str]:
        """Wait until so many parts are shown; the texts of all, in order."""
        await self._until(lambda: len(self.shown) >= count)
        return [part.body.text for part in self.shown]

    @property
    def acknowledged(self) -> int:
        """How many messages will not be offered again."""
        return self._acknowledged

    async def acknowledges(self, count: int) -> None:
        """Wait until so many messages will not be offered again."""
        await self._until(lambda: self._acknowledged >= count)

    def rate_limit_next(self, wait: timedelta) -> None:
        """The next part is refused with a wait."""
        self._faults.append(ChannelRateLimited("too fast", retry_after=wait))

    def cut_the_line(self) -> None:
        """The next part cannot leave: nobody is there."""
        self._faults.append(ChannelUnreachable("nobody is there"))

    def lose_the_answer(self) -> None:
        """The next part is shown, and the line breaks before its sender hears so."""
        self._faults.append(ChannelOutcomeUnknown("the line broke after the part had left"))

    def refuse_next(self) -> None:
        """The next part is refused for good."""
        self._faults.append(ChannelRejected("the platform refused it"))

    def stall_next(self) -> None:
        """The next part gets no answer, for as long as its sender waits."""
        self._faults.append(_Stall())

    async def stalled(self) -> None:
        """Wait until a sender has been left without an answer."""
        await self._until(lambda: self._stalled > 0)

    async def poll(self, *, after: int) -> Sequence[Written]:
        """The oldest messages that were not acknowledged, from an offset on; waits for one."""
        await self._until(lambda: len(self._written) > max(after, self._acknowledged))
        start = max(after, self._acknowledged)
        return self._written[start : start + AT_ONCE]

    def acknowledge(self, offset: int) -> None:
        """Offer nothing up to this offset any more."""
        self._acknowledged = max(self._acknowledged, offset)
        self._change()

    async def take(self, part: OutgoingPart) -> PlatformMessageId:
        """Show a part, or do with it what was arranged.

        Raises:
            ChannelError: that.
        """
        self.tries += 1
        await anyio.lowlevel.checkpoint()
        fault = self._faults.popleft() if self._faults else None
        if isinstance(fault, _Stall):
            self._stalled += 1
            self._change()
            await anyio.sleep_forever()
        elif fault is None or isinstance(fault, ChannelOutcomeUnknown):
            self.shown.append(part)
            self._change()
        if isinstance(fault, Exception):
            raise fault
        return PlatformMessageId(f"out{len(self.shown)}")

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def _until(self, holds: Callable[[], bool]) -> None:
        await anyio.lowlevel.checkpoint()
        while not holds():
            await self._changed.wait()


class MemoryChannel:
    """The `Channel` port over a platform in memory: polls, and acknowledges what the inbox has taken."""

    def __init__(self, platform: MemoryPlatform, *, clock: Clock, account: str = "bot") -> None:
        self._platform = platform
        self._clock = clock
        self._account = AccountId(account)

    @property
    def account(self) -> AccountId:
        """See `Channel.account`."""
        return self._account

    @property
    def features(self) -> ChannelFeatures:
        """Text of any length; what was not acknowledged is offered again."""
        return ChannelFeatures(offers_again=True)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        """See `Channel.run`. A cursor is an offset; the platform keeps its own beside it."""
        after = 0 if cursor is None else int(cursor)
        while True:
            polled = await self._platform.poll(after=after)
            verdicts = await inbox.accept([Offered(message=_raw(message)) for message in polled])
            taken = _taken(polled, verdicts)
            self._platform.acknowledge(taken)
            after = max(after, taken)
            if taken < polled[-1].offset:
                await self._clock.sleep_until(self._clock.now() + PAUSE)

    async def send(self, part: OutgoingPart) -> Delivered:
        """See `Channel.send`."""
        return Delivered(platform_id=await self._platform.take(part))


def _raw(message: Written) -> RawMessage:
    return RawMessage(
        id=f"m{message.offset}",
        content=message.text,
        sender=message.name,
        sender_id=message.user,
        chat_id=message.chat,
        reply_target=message.chat,
    )


def _taken(polled: Sequence[Written], verdicts: Sequence[Verdict]) -> int:
    """The offset up to which everything may be acknowledged."""
    taken = polled[0].offset - 1
    for message, verdict in zip(polled, verdicts, strict=True):
        if verdict in _KEPT:
            break
        taken = message.offset
    return taken

"""The channels that are put to the test, each with its platform."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime, timedelta
from itertools import count

import anyio
import anyio.lowlevel
from typing_extensions import override

from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.application.ports.local_clients import PartStream
from fermix.domain.delivery import TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.channels.cli.channel import MAX_PARTS, CliChannel
from fermix.testing.channel_conformance import CannotArrange, Gap
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_channel import MemoryChannel, MemoryPlatform

MakeChannel = Callable[[MemoryPlatform], Channel]


class HastyClock(StoppedClock):
    """Time passes as fast as somebody wants it to."""

    @override
    async def sleep_until(self, instant: datetime) -> None:
        await anyio.lowlevel.checkpoint()
        self.advance(max(instant - self.now(), timedelta(0)))


def in_memory(platform: MemoryPlatform) -> Channel:
    return MemoryChannel(platform, clock=HastyClock())


def part_for(target: Target, text: str, number: int) -> OutgoingPart:
    return OutgoingPart(target=target, body=TextPart(text=text), nonce=f"nonce-{number}")


class OpenMemory:
    def __init__(self, make: MakeChannel) -> None:
        self.far_side = MemoryPlatform()
        self._make = make
        self.channel = self.again()
        self._numbers = count()

    def again(self) -> Channel:
        return self._make(self.far_side)

    def part(self, text: str) -> OutgoingPart:
        target = Target(
            channel=ChannelName("memory"),
            account=AccountId("bot"),
            chat=ChatId("7"),
            reply_to=PlatformMessageId("m1"),
        )
        return part_for(target, text, next(self._numbers))


class MemoryHarness:
    """A `ChannelHarness` in memory."""

    def __init__(self, make: MakeChannel = in_memory, *, patience: timedelta = timedelta(seconds=5)) -> None:
        self._make = make
        self._patience = patience

    @property
    def patience(self) -> timedelta:
        return self._patience

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenMemory]:
        yield OpenMemory(self._make)


_SOCKET = "what is typed comes through the control socket, not through the channel"
_HAND = "a part is handed over inside one process: it cannot get lost, nor be told to wait"

CLI_GAPS = (
    *(
        Gap(check=check, reason=_SOCKET)
        for check in (
            "what_people_write_reaches_the_inbox",
            "messages_arrive_in_their_order",
            "it_acknowledges_after_the_inbox_and_not_before",
            "what_was_not_taken_is_offered_again",
            "what_needs_no_turn_is_acknowledged",
        )
    ),
    *(
        Gap(check=check, reason=_HAND)
        for check in (
            "a_rate_limit_is_told_with_its_wait",
            "what_did_not_leave_is_told",
            "what_may_have_arrived_is_told",
            "nothing_is_sent_again",
        )
    ),
)


class Terminals:
    """The `FarSide` of the local channel: somebody waits at a terminal, and another one has left."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._changed = anyio.Event()
        self.next_terminal = "here"

    async def reads(self, stream: PartStream) -> None:
        while True:
            part = await stream.receive()
            self._shown.append(part.text)
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    def user_writes(self, *texts: str) -> None:
        raise CannotArrange(_SOCKET)

    async def saw(self, count: int) -> Sequence[str]:
        while len(self._shown) < count:
            await self._changed.wait()
        return self._shown

    @property
    def tries(self) -> int:
        raise CannotArrange(_HAND)

    @property
    def acknowledged(self) -> int:
        raise CannotArrange(_SOCKET)

    async def acknowledges(self, count: int) -> None:
        raise CannotArrange(_SOCKET)

    def rate_limit_next(self, wait: timedelta) -> None:
        raise CannotArrange(_HAND)

    def cut_the_line(self) -> None:
        raise CannotArrange(_HAND)

    def lose_the_answer(self) -> None:
        raise CannotArrange(_HAND)

    def refuse_next(self) -> None:
        self.next_terminal = "gone"

    def stall_next(self) -> None:
        self.next_terminal = "asleep"

    async def stalled(self) -> None:
        await anyio.wait_all_tasks_blocked()


class OpenCli:
    def __init__(self, channel: CliChannel, far_side: Terminals) -> None:
        self.channel = channel
        self.far_side = far_side
        self._numbers = count()

    def again(self) -> Channel:
        return CliChannel()

    def part(self, text: str) -> OutgoingPart:
        terminal, self.far_side.next_terminal = self.far_side.next_terminal, "here"
        return part_for(cli_target(terminal), text, next(self._numbers))


def cli_target(terminal: str) -> Target:
    return Target(
        channel=ChannelName("cli"),
        account=AccountId("local"),
        chat=ChatId("cli"),
        reply_to=PlatformMessageId(terminal),
    )


class CliHarness:
    """A `ChannelHarness` over the local channel."""

    @property
    def patience(self) -> timedelta:
        return timedelta(seconds=5)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenCli]:
        channel = CliChannel()
        with ExitStack() as stack:
            async with anyio.create_task_group() as tasks:
                far_side = Terminals()
                here = stack.enter_context(channel.attach(PlatformMessageId("here")))
                stack.enter_context(channel.attach(PlatformMessageId("asleep")))
                for number in range(MAX_PARTS):
                    await channel.send(part_for(cli_target("asleep"), "unread", number))
                tasks.start_soon(far_side.reads, here)
                yield OpenCli(channel, far_side)
                tasks.cancel_scope.cancel()

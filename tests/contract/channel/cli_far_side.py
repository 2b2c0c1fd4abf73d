"""The local channel with terminals that wait for answers, and what the suite cannot bring them to."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import timedelta
from itertools import count

import anyio

from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.application.ports.local_clients import PartStream
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaPart, Part, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.channels.cli.channel import MAX_PARTS, CliChannel
from fermix.testing.channel_conformance import CannotArrange, Fact, Gap, Shown, ShownFile, Trouble
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from tests.contract.channel.memory_far_side import part_for

_SOCKET = "what is typed comes through the control socket, not through the channel"
_HAND = "a part is handed over inside one process: it cannot get lost, nor be told to wait"

_NO_REACTIONS = "a terminal has no reactions"
_UNBOUNDED = "a terminal shows text of any length"
_NAMELESS = "what a terminal shows has no id"
_THREADLESS = "a terminal has one thread"
_TRUSTED = "there is no credential: who may use the control socket is known by the kernel"
_CLOSE = "the control socket is never away, and there is no line to it"

CLI_GAPS = tuple(
    Gap(check=check, reason=reason)
    for reason, checks in (
        (
            _SOCKET,
            (
                "listening_again_goes_on_behind_what_was_taken",
                "two_of_a_kind_listen_apart",
                "what_people_write_reaches_the_inbox",
                *(f"it_tells_{fact.name.lower()}" for fact in Fact),
                "messages_arrive_in_their_order",
                "it_acknowledges_after_the_inbox_and_not_before",
                "what_was_not_taken_is_offered_again",
                "nothing_beside_a_message_that_was_not_taken_is_lost",
                "what_needs_no_turn_is_acknowledged",
                "a_message_keeps_its_key",
                "listening_can_be_cancelled_at_every_await",
                "odd_words_come_in",
                "garbage_holds_up_nobody",
                "garbage_is_counted",
                "a_file_is_fetched_whole",
                "a_file_is_fetched_up_to_its_limit",
                "what_cannot_be_fetched_is_told",
                "no_fetching_shows_the_credential",
                "who_stops_fetching_leaves_it_usable",
            ),
        ),
        (
            _NO_REACTIONS,
            ("a_reaction_is_put_on_its_message", "a_reaction_to_no_message_is_refused"),
        ),
        (
            _HAND,
            (
                "a_rate_limit_is_told_with_its_wait",
                "what_did_not_leave_is_told",
                "what_may_have_arrived_is_told",
                "an_answer_that_is_none_is_told",
            ),
        ),
        (_CLOSE, ("a_platform_that_is_gone_is_told", "a_platform_that_is_back_is_heard")),
        (_CLOSE, ("who_leaves_leaves_no_line_open", "a_line_that_broke_unused_is_none_of_the_next_part")),
        (_TRUSTED, ("a_refused_credential_is_told",)),
        (_TRUSTED, ("no_credential_shows_in_an_error", "no_credential_shows_in_a_log")),
        (
            _UNBOUNDED,
            (
                "what_is_too_long_is_refused",
                "one_more_character_is_too_long",
                "the_longest_caption_is_taken_and_no_longer_one",
            ),
        ),
        (_NAMELESS, ("a_sent_part_is_known_by_its_id",)),
        (_THREADLESS, ("a_part_goes_to_its_thread",)),
    )
    for check in checks
)


class Terminals:
    """The `FarSide` of the local channel: somebody waits at a terminal, and another one has left."""

    def __init__(self, blobs: MemoryBlobs) -> None:
        self._blobs = blobs
        self._shown: list[Shown] = []
        self._changed = anyio.Event()
        self.next_terminal = "here"

    async def reads(self, stream: PartStream) -> None:
        while True:
            part = await stream.receive()
            file = await self._opened(part) if isinstance(part, MediaPart) else None
            self._shown.append(Shown(text=part.text, id=None, in_thread=False, file=file))
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    async def _opened(self, part: MediaPart) -> ShownFile:
        async with self._blobs.open(part.blob) as pieces:
            content = b"".join([piece async for piece in pieces])
        return ShownFile(content=content, kind=part.kind, name=part.file_name)

    def user_writes(self, *texts: str) -> None:
        raise CannotArrange(_SOCKET)

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        raise CannotArrange(_SOCKET)

    def hands_over_garbage(self) -> None:
        raise CannotArrange(_SOCKET)

    @property
    def acknowledged(self) -> int:
        raise CannotArrange(_SOCKET)

    async def acknowledges(self, count: int) -> None:
        raise CannotArrange(_SOCKET)

    async def shown(self, count: int) -> Sequence[Shown]:
        while len(self._shown) < count:
            await self._changed.wait()
        return self._shown

    def user_sends_file(self, content: bytes) -> None:
        raise CannotArrange(_SOCKET)

    async def reactions(self, count: int) -> Sequence[str]:
        raise CannotArrange(_NO_REACTIONS)

    @property
    def tries(self) -> int:
        return len(self._shown)

    def trouble_next(self, trouble: Trouble) -> None:
        match trouble:
            case Trouble.REFUSED:
                self.next_terminal = "gone"
            case Trouble.STALLED:
                self.next_terminal = "asleep"
            case _:
                raise CannotArrange(_HAND)

    async def stalled(self) -> None:
        await anyio.wait_all_tasks_blocked()

    def refuses_us(self) -> None:
        raise CannotArrange(_TRUSTED)

    def goes_away(self) -> None:
        raise CannotArrange(_CLOSE)

    def comes_back(self) -> None:
        raise CannotArrange(_CLOSE)

    async def settles(self) -> int:
        raise CannotArrange(_CLOSE)


class OpenCli:
    credential = ""

    def __init__(self, channel: CliChannel, far_side: Terminals, blobs: MemoryBlobs) -> None:
        self.channel = channel
        self.far_side = far_side
        self._blobs = blobs
        self._numbers = count()

    def again(self) -> Channel:
        return CliChannel(blobs=self._blobs)

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        if in_thread:
            raise CannotArrange(_THREADLESS)
        return self.part_of(TextPart(text=text))

    async def keep(self, content: bytes) -> BlobRef:
        return await self._blobs.store(_at_once(content), limit=len(content))

    def part_of(self, body: Part) -> OutgoingPart:
        terminal, self.far_side.next_terminal = self.far_side.next_terminal, "here"
        return part_for(cli_target(terminal), body, next(self._numbers))


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
        blobs = MemoryBlobs(clock=StoppedClock())
        channel = CliChannel(blobs=blobs)
        with ExitStack() as stack:
            async with anyio.create_task_group() as tasks:
                far_side = Terminals(blobs)
                here = stack.enter_context(channel.attach(PlatformMessageId("here")))
                stack.enter_context(channel.attach(PlatformMessageId("asleep")))
                for number in range(MAX_PARTS):
                    await channel.send(part_for(cli_target("asleep"), TextPart(text="unread"), number))
                tasks.start_soon(far_side.reads, here)
                yield OpenCli(channel, far_side, blobs)
                tasks.cancel_scope.cancel()


async def _at_once(content: bytes) -> AsyncGenerator[bytes]:
    yield content

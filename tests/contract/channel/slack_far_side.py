"""Slack as the suite directs it: the whole adapter with its libraries over a fake Slack that calls it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import timedelta
from itertools import count

import anyio

from fermix.application.commands.registry import COMMANDS
from fermix.application.ports.blobs import Blobs
from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.application.ports.clock import Clock
from fermix.application.ports.webhooks import WebhookRequest
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.route import Target
from fermix.infrastructure.channels.slack.channel import SlackChannel, account_of, names_of
from fermix.infrastructure.channels.slack.web_api import SlackApi
from fermix.infrastructure.channels.slack.webhook import SlackWebhook
from fermix.testing.channel_conformance import WAIT, CannotArrange, Fact, Gap, Shown, ShownFile, Trouble
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.memory_channel import MemoryPlatform
from fermix.testing.servers.slack_api.server import (
    SIGNING_SECRET,
    TOKEN,
    SlackServer,
    encoded,
    signed,
    slack_server,
)
from fermix.testing.servers.slack_api.world import Sent
from tests.contract.channel.memory_far_side import MakeChannel, as_it_is
from tests.contract.channel.platforms import HastyClock
from tests.contract.channel.slack_facts import DIRECT, SHOWS, TOPIC, garbage

PATIENCE = timedelta(seconds=5)
_ACKNOWLEDGED_WITHIN = 0.3
_PAUSE = 0.01

KEPT_LINES = 2
"""One for calls and one for files stay open for the next of their kind."""

SLACK_GAPS = (
    Gap(check="it_tells_group", reason="an event does not say what its channel is called"),
    Gap(check="it_tells_album", reason="Slack puts all files that are sent together into one message"),
    Gap(check="it_tells_command", reason="commands name no bot on Slack"),
    Gap(check="it_tells_others_command", reason="commands name no bot on Slack"),
)


def slack(server: SlackServer, clock: Clock, blobs: Blobs) -> SlackChannel:
    """The adapter, whole."""
    return SlackChannel(
        api=SlackApi(token=TOKEN, root=server.root, answer_seconds=PATIENCE.total_seconds()),
        account=account_of(TOKEN),
        webhook=SlackWebhook(signing_secret=SIGNING_SECRET, clock=clock, command_names=names_of(COMMANDS)),
        blobs=blobs,
        clock=clock,
    )


def post(body: bytes, headers: Mapping[str, str]) -> WebhookRequest:
    """A call of Slack's."""
    return WebhookRequest(method="POST", query={}, headers=headers, body=body)


class Caller:
    """Calls whichever process listens, until it is told that the call was taken; one call after another."""

    def __init__(self, clock: Clock, *channels: SlackChannel) -> None:
        self._clock = clock
        self._channels = channels
        self._waiting: list[tuple[bytes, bool]] = []
        self.taken = 0
        self._changed = anyio.Event()

    def calls(self, body: bytes, *, counts: bool = False) -> None:
        self._waiting.append((body, counts))
        self._change()

    async def run(self) -> None:
        while True:
            while not self._waiting:
                await self._changed.wait()
            body, counts = self._waiting[0]
            if await self._try(body) == 503:
                await anyio.sleep(_PAUSE)
                continue
            self._waiting.pop(0)
            self.taken += counts
            self._change()

    async def until_taken(self, amount: int) -> None:
        while self.taken < amount:
            await self._changed.wait()

    async def _try(self, body: bytes) -> int:
        for channel in self._channels:
            with anyio.move_on_after(_ACKNOWLEDGED_WITHIN):
                request = post(body, signed(body, at=self._clock.now().timestamp()))
                status = (await channel.webhook.answer(request)).status
                if status != 503:
                    return status
        return 503

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class SlackFarSide:
    """The `FarSide` of Slack."""

    def __init__(self, server: SlackServer, caller: Caller) -> None:
        self.server = server
        self._caller = caller
        self._next: Trouble | None = None

    def user_writes(self, *texts: str) -> None:
        for text in texts:
            escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            self._caller.calls(self.server.notification(self.server.event(escaped)), counts=True)

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        if fact not in SHOWS:
            raise CannotArrange("Slack does not tell it")
        event, told = SHOWS[fact](self.server)
        self._caller.calls(self.server.notification(event))
        return told

    def hands_over_garbage(self) -> None:
        for payload in garbage(self.server):
            self._caller.calls(encoded(payload))

    @property
    def acknowledged(self) -> int:
        return self._caller.taken

    async def acknowledges(self, count: int) -> None:
        await self._caller.until_taken(count)

    async def shown(self, count: int) -> Sequence[Shown]:
        return [_as_shown(each) for each in await self.server.until_sent(count)]

    def user_sends_file(self, content: bytes) -> None:
        file = self.server.file(content, "file.bin", "application/octet-stream")
        event = self.server.event("", subtype="file_share", files=[file])
        self._caller.calls(self.server.notification(event))

    async def reactions(self, count: int) -> Sequence[str]:
        return await self.server.until_reacted(count)

    @property
    def tries(self) -> int:
        return self.server.called("chat.postMessage", "files.completeUploadExternal", "reactions.add")

    def trouble_next(self, trouble: Trouble) -> None:
        self._next = trouble

    def meets_a_part(self) -> None:
        """A part has been made that is about to be sent: arrange what is to become of it."""
        self.server.comes_back()
        trouble, self._next = self._next, None
        where = "chat.postMessage"
        match trouble:
            case Trouble.TOO_FAST:
                wait = int(WAIT.total_seconds())
                self.server.fault(where, status=429, error="ratelimited", retry_after=wait)
            case Trouble.UNREACHABLE:
                self.server.goes_away()
            case Trouble.REFUSED:
                self.server.fault(where, error="restricted_action")
            case Trouble.ANSWER_LOST:
                self.server.fault(where, drop="after")
            case Trouble.ANSWER_GARBLED:
                self.server.fault(where, body="<html>502</html>")
            case Trouble.STALLED:
                self.server.fault(where, hang=float("inf"))
            case None:
                pass

    async def stalled(self) -> None:
        await self.server.until_hanging()

    def refuses_us(self) -> None:
        self.server.revoke_token()

    def goes_away(self) -> None:
        self.server.goes_away()

    def comes_back(self) -> None:
        self.server.comes_back()

    async def settles(self) -> int:
        with suppress(AssertionError):
            await self.server.until_connections(KEPT_LINES, seconds=5)
        return max(0, self.server.connections - KEPT_LINES)


def _as_shown(sent: Sent) -> Shown:
    if sent.file is None:
        return Shown(text=sent.text, id=sent.ts, in_thread=sent.thread == TOPIC)
    file = ShownFile(content=sent.file.data, name=sent.file.name)
    # Slack does not answer which message shows a file.
    return Shown(text=sent.text, id=None, in_thread=sent.thread == TOPIC, file=file)


class OpenSlack:
    """Two processes over one app; one of them listens."""

    def __init__(
        self,
        server: SlackServer,
        clock: StoppedClock,
        blobs: Blobs,
        ways: tuple[SlackChannel, SlackChannel],
        make: MakeChannel,
    ) -> None:
        self.caller = Caller(clock, *ways)
        self.credential = TOKEN
        self._far_side = SlackFarSide(server, self.caller)
        self._blobs = blobs
        self._clock = clock
        platform = MemoryPlatform()
        self.channel, self._following = (make(each, platform) for each in ways)
        self._numbers = count()

    @property
    def far_side(self) -> SlackFarSide:
        return self._far_side

    def again(self) -> Channel:
        return self._following

    async def keep(self, content: bytes) -> BlobRef:
        async with aclosing(in_pieces(content)) as pieces:
            return await self._blobs.store(pieces, limit=len(content))

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        return self._part(TextPart(text=text), TOPIC if in_thread else None)

    def part_of(self, body: Part) -> OutgoingPart:
        return self._part(body, None)

    def _part(self, body: Part, thread: str | None) -> OutgoingPart:
        self._clock.advance(WAIT)
        self._far_side.meets_a_part()
        target = Target(
            channel=ChannelName("slack"),
            account=self.channel.account,
            chat=ChatId(DIRECT),
            thread=None if thread is None else ThreadId(thread),
            reply_to=PlatformMessageId("1790000000.000001"),
        )
        return OutgoingPart(target=target, body=body, nonce=f"nonce-{next(self._numbers)}")


class SlackHarness:
    """A `ChannelHarness` over Slack."""

    def __init__(self, make: MakeChannel = as_it_is, *, patience: timedelta = PATIENCE) -> None:
        self._make = make
        self._patience = patience

    @property
    def patience(self) -> timedelta:
        return self._patience

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenSlack]:
        clock = HastyClock()
        blobs = MemoryBlobs(clock=clock)
        with slack_server() as server:
            async with (
                slack(server, clock, blobs) as channel,
                slack(server, clock, blobs) as following,
                anyio.create_task_group() as tasks,
            ):
                opened = OpenSlack(server, clock, blobs, (channel, following), self._make)
                tasks.start_soon(opened.caller.run)
                yield opened
                tasks.cancel_scope.cancel()

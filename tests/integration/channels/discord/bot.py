"""The real channel over the fake REST and gateway, and an inbox that says what it is told to."""

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio

from fermix.application.commands.registry import COMMANDS
from fermix.application.ports.admissions import LISTENING, CursorMove
from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.channel import ChannelError, Offered, OutgoingPart, Verdict
from fermix.application.ports.clock import Clock
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import ChannelName, ChatId, PlatformMessageId
from fermix.domain.normalise import RawMessage
from fermix.domain.route import Target
from fermix.infrastructure.channels.discord.channel import DiscordChannel, account_of
from fermix.infrastructure.channels.discord.rest import Requests
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.discord_api.people_side import CHAT
from fermix.testing.servers.discord_api.server import DiscordServer

SECONDS = 5.0


class Inbox:
    """Takes everything but what it was told not to."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.messages: list[RawMessage] = []
        self.cursors: list[str | None] = []
        self.unread = 0
        self.lists = 0
        self._verdicts = deque(verdicts)
        self._changed = anyio.Event()

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        assert cursor is None or cursor.scope == LISTENING
        self.lists += 1
        self.messages += [one.message for one in offered]
        self.cursors.append(None if cursor is None else cursor.value)
        self._change()
        return tuple(self._verdicts.popleft() if self._verdicts else Verdict.ACCEPTED for _ in offered)

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        raise AssertionError("Discord's chats keep their ids")

    def unreadable(self) -> None:
        self.unread += 1
        self._change()

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    @property
    def texts(self) -> list[str]:
        return [one["content"] for one in self.messages]

    async def until_text(self, text: str, *, times: int = 1) -> None:
        with anyio.fail_after(SECONDS):
            while self.texts.count(text) < times:
                await self._changed.wait()

    async def until_unread(self, count: int) -> None:
        with anyio.fail_after(SECONDS):
            while self.unread < count:
                await self._changed.wait()


@asynccontextmanager
async def bot(
    server: DiscordServer,
    *,
    clock: Clock | None = None,
    answer_seconds: float = SECONDS,
    blobs: ReadsBlobs | None = None,
) -> AsyncGenerator[DiscordChannel]:
    """The channel, closed at the end."""
    clock = clock or SystemClock()
    async with DiscordChannel(
        requests=Requests(
            token=server.token, root=server.api_base_url, clock=clock, answer_seconds=answer_seconds
        ),
        account=account_of(server.token),
        commands=COMMANDS,
        gateway=None,
        blobs=blobs or MemoryBlobs(clock=clock),
        clock=clock,
    ) as channel:
        yield channel


@asynccontextmanager
async def online(
    server: DiscordServer, channel: DiscordChannel, inbox: Inbox, *, cursor: str | None = None
) -> AsyncGenerator[None]:
    """The channel listens while the context lasts; it is there when the context begins."""
    async with anyio.create_task_group() as tasks:

        async def listens() -> None:
            await channel.run(inbox, cursor=cursor)

        tasks.start_soon(listens)
        await server.until(server.online)
        yield
        tasks.cancel_scope.cancel()


async def end_of(
    channel: DiscordChannel, inbox: Inbox | None = None, *, cursor: str | None = None
) -> ChannelError:
    """How listening ends by itself."""
    try:
        with anyio.fail_after(SECONDS):
            await channel.run(inbox or Inbox(), cursor=cursor)
    except ChannelError as exc:
        return exc
    raise AssertionError("it ended without an error")


def part(
    text: str | Part, *, chat: str = CHAT, nonce: str = "n-1", reply_to: str | None = None
) -> OutgoingPart:
    """A part for a chat."""
    target = Target(
        channel=ChannelName("discord"),
        account=account_of("x"),
        chat=ChatId(chat),
        reply_to=None if reply_to is None else PlatformMessageId(reply_to),
    )
    return OutgoingPart(
        target=target, body=TextPart(text=text) if isinstance(text, str) else text, nonce=nonce
    )

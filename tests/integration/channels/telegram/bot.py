"""The real channel over the fake Bot API server, and an inbox that says what it is told to."""

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio

from fermix.application.commands.registry import COMMANDS
from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.channel import ChannelError, Offered, OutgoingPart, Verdict
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.normalise import RawMessage
from fermix.domain.route import Target
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.channel import Listening, TelegramChannel, account_of
from fermix.infrastructure.channels.telegram.pace import Pace, PaceLimits
from fermix.infrastructure.channels.telegram.polling import Patience
from fermix.infrastructure.channels.telegram.token_lock import TokenLock
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.telegram_api.server import TelegramServer

SECONDS = 5.0


class Inbox:
    """Takes everything but what it was told not to."""

    def __init__(self, *verdicts: Verdict) -> None:
        self.messages: list[RawMessage] = []
        self.taken: list[object] = []
        self.moves: list[tuple[ChatId, ChatId]] = []
        self.unread = 0
        self.lists = 0
        self._verdicts = deque(verdicts)
        self._changed = anyio.Event()
        self._door = anyio.Event()
        self._door.set()

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        self.lists += 1
        self.messages += [one.message for one in offered]
        self.taken += [one.message["content"] for one in offered]
        self._changed.set()
        self._changed = anyio.Event()
        await self._door.wait()
        return tuple(self._verdict() for _ in offered)

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        self.moves.append((old, new))
        self.taken.append((old, new))
        return self._verdict()

    def unreadable(self) -> None:
        self.unread += 1

    def _verdict(self) -> Verdict:
        return self._verdicts.popleft() if self._verdicts else Verdict.ACCEPTED

    def shut(self) -> None:
        """Commit nothing from now on; what is offered waits."""
        self._door = anyio.Event()

    async def until_offered(self, count: int) -> list[str]:
        """The texts of the messages, once there are so many."""
        with anyio.fail_after(SECONDS):
            while len(self.messages) < count:
                await self._changed.wait()
        return [one["content"] for one in self.messages]

    async def until_offered_text(self, text: str) -> None:
        """Wait until a message with this text was offered."""
        with anyio.fail_after(SECONDS):
            while text not in self.taken:
                await self._changed.wait()

    async def until_heard(self, lists: int) -> None:
        """Wait until so many polls were answered."""
        with anyio.fail_after(SECONDS):
            while self.lists < lists:
                await self._changed.wait()


@asynccontextmanager
async def bot(
    server: TelegramServer,
    *,
    token: str | None = None,
    limits: PaceLimits | None = None,
    patience: Patience | None = None,
    lock: TokenLock | None = None,
    answer_seconds: float = SECONDS,
    blobs: ReadsBlobs | None = None,
) -> AsyncGenerator[TelegramChannel]:
    """The channel, closed at the end."""
    token = server.token if token is None else token
    async with TelegramChannel(
        api=BotApi(
            token=token,
            root=server.api_base_url,
            blobs=blobs or MemoryBlobs(clock=SystemClock()),
            answer_seconds=answer_seconds,
        ),
        account=account_of(token),
        commands=COMMANDS,
        pace=Pace(limits),
        clock=SystemClock(),
        listening=Listening(patience=patience or Patience(), lock=lock),
    ) as channel:
        yield channel


class Ended:
    """How `run` ended by itself."""

    def __init__(self) -> None:
        self.error: ChannelError | None = None
        self._ended = anyio.Event()

    async def run(self, channel: TelegramChannel, inbox: Inbox) -> None:
        try:
            await channel.run(inbox, cursor=None)
        except ChannelError as exc:
            self.error = exc
        self._ended.set()

    async def wait(self) -> ChannelError:
        with anyio.fail_after(SECONDS):
            await self._ended.wait()
        assert self.error is not None
        return self.error


@asynccontextmanager
async def listening(channel: TelegramChannel, inbox: Inbox) -> AsyncGenerator[Ended]:
    """The channel listens until left."""
    ended = Ended()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ended.run, channel, inbox)
        yield ended
        tasks.cancel_scope.cancel()


def part(
    body: str | Part, *, chat: int = 1001, thread: int | None = None, reply_to: int | None = None
) -> OutgoingPart:
    """A part for a chat."""
    target = Target(
        channel=ChannelName("telegram"),
        account=account_of("123456:x"),
        chat=ChatId(str(chat)),
        thread=None if thread is None else ThreadId(str(thread)),
        reply_to=None if reply_to is None else PlatformMessageId(str(reply_to)),
    )
    body = TextPart(text=body) if isinstance(body, str) else body
    return OutgoingPart(target=target, body=body, nonce="n")

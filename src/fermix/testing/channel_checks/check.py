"""A check of the suite of channels, an inbox that does as it is told, and short ways to listen and send."""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TypeAlias

import anyio

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import Channel, ChannelError, Offered, Verdict
from fermix.domain.ids import ChannelName, ChatId
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Normalised, RawMessage, Registration, normalise
from fermix.testing.channel_harness import ChannelHarness, FarSide, OpenChannel, Trouble
from fermix.testing.checks import CannotArrange, Check, Run, as_check
from fermix.testing.expectations import PromiseBroken, must_be

ChannelCheck: TypeAlias = Check[ChannelHarness]

FOREIGN = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""What an adapter lets through that thinks of its platform only, or of text as if it were always well-formed."""


def proves(*requirements: str) -> Callable[[Run[ChannelHarness]], ChannelCheck]:
    """Make a check of a function; an error of the channel that it does not expect breaks its promise."""
    return lambda run: as_check(run, *requirements, broken_by=ChannelError)


class DirectedInbox:
    """Takes everything, but where it was told what to say of the messages it is offered next.

    Attributes:
        offered: every message in the order it was offered, again and again.
        cursor: the one that was committed last.
        moves: chats that have another id by now, old and new.
        unread: how often something was told that nobody could read.
    """

    def __init__(self, *verdicts: Verdict) -> None:
        self.offered: list[RawMessage] = []
        self.cursor: str | None = None
        self.moves: list[tuple[ChatId, ChatId]] = []
        self.unread = 0
        self._verdicts = deque(verdicts)
        self._changed = anyio.Event()
        self._open = anyio.Event()
        self._open.set()

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        """See `Inbox.accept`."""
        self.offered += [each.message for each in offered]
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        await self._open.wait()
        verdicts = tuple(self._verdict() for _ in offered)
        if cursor is not None and Verdict.UNAVAILABLE not in verdicts:
            self.cursor = cursor.value
        return verdicts

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        """See `Inbox.moved`."""
        self.moves.append((old, new))
        await self._open.wait()
        return Verdict.ACCEPTED

    def unreadable(self) -> None:
        """See `Inbox.unreadable`."""
        self.unread += 1

    def closes(self) -> None:
        """Commit nothing, and let whoever offers wait."""
        self._open = anyio.Event()

    @property
    def texts(self) -> Sequence[str]:
        """What was offered, repeats included."""
        return [str(message.get("content")) for message in self.offered]

    async def was_offered(self, count: int) -> Sequence[str]:
        """Wait until so many messages were offered, repeats included; their texts."""
        while len(self.offered) < count:
            await self._changed.wait()
        return self.texts

    async def was_offered_text(self, text: str, *, times: int = 1) -> None:
        """Wait until a text was offered so often."""
        while self.texts.count(text) < times:
            await self._changed.wait()

    def _verdict(self) -> Verdict:
        return self._verdicts.popleft() if self._verdicts else Verdict.ACCEPTED


@contextmanager
def in_time(harness: ChannelHarness, about: str) -> Generator[None]:
    """What is done inside ends while the harness has patience.

    Raises:
        PromiseBroken: it does not.
    """
    with anyio.move_on_after(harness.patience.total_seconds()) as scope:
        yield
    if scope.cancelled_caught:
        raise PromiseBroken(f"{about}: not within {harness.patience}")


@asynccontextmanager
async def listening(channel: Channel, inbox: DirectedInbox) -> AsyncGenerator[None]:
    """The channel listens while the context lasts, from where the inbox stands."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(channel.run, inbox, cursor=inbox.cursor))
        yield
        tasks.cancel_scope.cancel()


async def listen_error(channel: Channel, inbox: DirectedInbox | None = None) -> ChannelError | None:
    """How listening ended by itself, `None` when without an error."""
    try:
        await channel.run(DirectedInbox() if inbox is None else inbox, cursor=None)
    except ChannelError as exc:
        return exc
    return None


async def listen_until(
    harness: ChannelHarness, channel: Channel, inbox: DirectedInbox, until: Callable[[], Awaitable[None]]
) -> ChannelError | None:
    """Listen until that came true or it ends by itself; whether either is in time is no matter here.

    Returns:
        The error it ended with, if it did.
    """
    errors = list[ChannelError | None]()
    with anyio.move_on_after(harness.patience.total_seconds()):
        async with anyio.create_task_group() as tasks:

            async def listens() -> None:
                errors.append(await listen_error(channel, inbox))
                tasks.cancel_scope.cancel()

            tasks.start_soon(listens)
            await until()
            tasks.cancel_scope.cancel()
    return errors[0] if errors else None


async def error_of(opened: OpenChannel, text: str = "a reply") -> ChannelError | None:
    """How sending one part failed, `None` when it did not.

    Raises:
        PromiseBroken: with an error that is none of channels.
    """
    try:
        await opened.channel.send(opened.part(text))
    except ChannelError as exc:
        return exc
    except FOREIGN as exc:
        raise PromiseBroken(f"sending: expected an error of channels, found {type(exc).__name__}") from exc
    return None


def troubles(far_side: FarSide) -> Iterator[Trouble]:
    """Every trouble that is answered and the platform can be brought to, arranged for the next part."""
    met = 0
    for trouble in Trouble:
        if trouble is Trouble.STALLED:
            continue
        try:
            far_side.trouble_next(trouble)
        except CannotArrange:
            continue
        met += 1
        yield trouble
    if not met:
        raise CannotArrange("this platform takes everything")


def normalised(channel: Channel, raw: RawMessage) -> Normalised:
    """A message as the gateway takes it."""
    return normalise(raw, Registration(channel=ChannelName("tested"), account=channel.account))


def inbound(channel: Channel, raw: RawMessage) -> InboundMessage:
    """A message that has all that is required of one.

    Raises:
        PromiseBroken: it has not.
    """
    return must_be(normalised(channel, raw), InboundMessage, "a message")

"""A check of the suite of channels, an inbox that does as it is told, and short ways to listen and send."""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TypeAlias

import anyio

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import Channel, ChannelError, Offered, Verdict
from fermix.domain.normalise import RawMessage
from fermix.testing.channel_harness import ChannelHarness, OpenChannel
from fermix.testing.checks import Check, Run, as_check
from fermix.testing.expectations import PromiseBroken

ChannelCheck: TypeAlias = Check[ChannelHarness]


def proves(*requirements: str) -> Callable[[Run[ChannelHarness]], ChannelCheck]:
    """Make a check of a function; an error of the channel that it does not expect breaks its promise."""
    return lambda run: as_check(run, *requirements, broken_by=ChannelError)


class DirectedInbox:
    """Takes everything, but where it was told what to say of the messages it is offered next.

    Attributes:
        offered: every message in the order it was offered, again and again.
        cursor: the one that was committed last.
    """

    def __init__(self, *verdicts: Verdict) -> None:
        self.offered: list[RawMessage] = []
        self.cursor: str | None = None
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

    def closes(self) -> None:
        """Commit nothing, and let whoever offers wait."""
        self._open = anyio.Event()

    async def was_offered(self, count: int) -> Sequence[str]:
        """Wait until so many messages were offered, repeats included; their texts."""
        while len(self.offered) < count:
            await self._changed.wait()
        return [str(message.get("content")) for message in self.offered]

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


async def error_of(opened: OpenChannel, text: str = "a reply") -> ChannelError | None:
    """How sending one part failed, `None` when it did not."""
    try:
        await opened.channel.send(opened.part(text))
    except ChannelError as exc:
        return exc
    return None

"""A messaging platform in memory, and the channel that polls it: the quickest far side of a gateway.

    platform = MemoryPlatform()
    channel = MemoryChannel(platform, clock=clock)
    platform.user_writes("hello")
    (part,) = await platform.saw(1)

The platform offers a message until it is acknowledged, and can be told what to do with the next part it is sent.
"""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager
from datetime import timedelta
from typing import assert_never

import anyio
import anyio.lowlevel

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.carrying import must_carry
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
from fermix.domain.caps import NO_MEDIA
from fermix.domain.delivery import MediaPart, ReactionPart, choices_of
from fermix.domain.ids import AccountId, PlatformMessageId
from fermix.domain.normalise import RawMessage
from fermix.domain.splitting import TextUnit, units
from fermix.testing.channel_harness import WAIT, Trouble
from fermix.testing.memory_abilities import MemoryButtons, MemoryDrafts, MemoryTyping
from fermix.testing.memory_media import MAX_FILE, MEDIA_OUT, REACTIONS, MemoryMedia, SentFiles
from fermix.testing.memory_posts import Posted, Posts, Written

AT_ONCE = 100
"""Messages in one poll."""

PAUSE = timedelta(milliseconds=100)
"""Between two polls when the inbox takes nothing."""

_KEPT = frozenset({Verdict.FULL, Verdict.UNAVAILABLE})


class MemoryPlatform:
    """The far side; belongs to one event loop. Outlives the channels over it, as a platform outlives a gateway.

    Attributes:
        max_text: UTF-16 units of the longest part it takes; `None` for any.
        has_buttons: whether it shows `TextPart.choices` as buttons.
        posts: what people see; `posted` is every part of it, in order.
        typed: the chats in which typing was shown, in order.
        reactions: the one of the channel on each message, by its id.
        refused_taps: who was told in private that a tap of theirs does not count.
        tries: how often a part was sent.
        lines: polls and sends under way.
        breaks: how often it has gone away.
    """

    def __init__(self, *, max_text: int | None = None, has_buttons: bool = False) -> None:
        self.max_text = max_text
        self.has_buttons = has_buttons
        self.posts = Posts()
        self.typed: list[str] = []
        self.reactions: dict[str, str] = {}
        self._files = SentFiles()
        self.refused_taps: list[str] = []
        self._closed: set[str] = set()
        self.tries = 0
        self.lines = 0
        self.breaks = 0
        self._written: list[Written] = []
        self._acknowledged = 0
        self._troubles: deque[Trouble] = deque()
        self._refuses = False
        self._away = False
        self._changed = anyio.Event()

    @property
    def posted(self) -> list[Posted]:
        """Every part that people see, in order."""
        return self.posts.shown

    def user_writes(
        self,
        *texts: str,
        chat: str = "7",
        user: str = "42",
        name: str = "Ann",
        facts: RawMessage | None = None,
    ) -> Sequence[Written]:
        """Somebody writes these messages, in this order; the messages."""
        after = len(self._written)
        self._written += [
            Written(offset=offset, text=text, chat=chat, user=user, name=name, facts=facts or {})
            for offset, text in enumerate(texts, start=after + 1)
        ]
        self._change()
        return self._written[after:]

    def user_taps(self, posted: Posted, *, user: str = "42", name: str = "Ann") -> None:
        """Somebody taps the first button under a part, or one they still saw there."""
        target, choice = posted.part.target, choices_of(posted.part.body)[0]
        facts = RawMessage(
            key=f"tap{len(self._written) + 1}", id=posted.id, thread_ts=target.thread, tap=True
        )
        self.user_writes(f"/confirm {choice.token}", chat=target.chat, user=user, name=name, facts=facts)

    def buttons(self, posted: Posted) -> Sequence[str]:
        """The labels of the buttons under a part now."""
        return [choice.label for choice in choices_of(posted.part.body) if choice.token not in self._closed]

    def close(self, token: str) -> None:
        """Show this button no longer."""
        self._closed.add(token)
        self._change()

    async def saw(self, count: int) -> Sequence[str]:
        """Wait until so many parts are shown; the texts of all, in order."""
        await self._until(lambda: len(self.posted) >= count)
        return [posted.part.body.text for posted in self.posted]

    def user_sends_file(self, content: bytes) -> None:
        """Somebody sends a file."""
        about = {"kind": "file", "reference": self._files.add(content), "size_bytes": len(content)}
        self.user_writes("", facts={"attachments": [about]})

    async def hand_out(self, reference: str) -> AsyncGenerator[bytes]:
        """What somebody sent, piece by piece.

        Raises:
            ChannelError: it is away, refuses us, or knows no such file.
        """
        with self.call():
            async with aclosing(self._files.pieces(reference)) as pieces:
                async for piece in pieces:
                    yield piece

    async def reacted(self, count: int) -> Sequence[str]:
        """Wait until so many messages carry a reaction; all that there are."""
        await self._until(lambda: len(self.reactions) >= count)
        return [*self.reactions.values()]

    @property
    def written(self) -> int:
        """The offset of the newest message."""
        return len(self._written)

    @property
    def acknowledged(self) -> int:
        """The offset up to which no message will be offered again."""
        return self._acknowledged

    async def acknowledges(self, offset: int) -> None:
        """Wait until no message up to this offset will be offered again."""
        await self._until(lambda: self._acknowledged >= offset)

    def trouble_next(self, trouble: Trouble) -> None:
        """What becomes of the next part."""
        self._troubles.append(trouble)

    @property
    def next_trouble(self) -> Trouble | None:
        """What was arranged for the next part."""
        return self._troubles[0] if self._troubles else None

    async def stalled(self) -> None:
        """Wait until every part that was to get no answer waits for it."""
        await self._until(lambda: Trouble.STALLED not in self._troubles)

    def refuses_us(self) -> None:
        """The channel is let in no more."""
        self._refuses = True
        self._change()

    def goes_away(self) -> None:
        """Nobody is there."""
        self.breaks += 1
        self._away = True
        self._change()

    def comes_back(self) -> None:
        """It is there again."""
        self._away = False

    async def poll(self, *, after: int) -> Sequence[Written]:
        """The oldest messages that were not acknowledged, from an offset on; waits for one.

        Raises:
            ChannelError: it is away, or refuses us.
        """
        with self._line():
            await self._until(lambda: self._shut or len(self._written) > max(after, self._acknowledged))
            self._let_in()
            start = max(after, self._acknowledged)
            return self._written[start : start + AT_ONCE]

    def acknowledge(self, offset: int) -> None:
        """Offer nothing up to this offset any more."""
        self._acknowledged = max(self._acknowledged, offset)
        self._change()

    async def take(self, part: OutgoingPart, content: bytes | None = None) -> object:
        """Show a part, with the content of its file, or do with it what was arranged.

        Returns:
            The id it has here; anything at all when the answer is garbled.

        Raises:
            ChannelError: what was arranged, or it is too long.
        """
        self.tries += 1
        await anyio.lowlevel.checkpoint()
        with self.call():
            if self.max_text is not None and units(part.body.text, TextUnit.UTF16) > self.max_text:
                raise ChannelRejected("the part is too long")
            if not self._troubles:
                return self._post(part, content)
            return await self._trouble(self._troubles.popleft(), part, content)

    async def _trouble(self, trouble: Trouble, part: OutgoingPart, content: bytes | None) -> object:
        match trouble:
            case Trouble.TOO_FAST:
                raise ChannelRateLimited("too fast", retry_after=WAIT)
            case Trouble.UNREACHABLE:
                raise ChannelUnreachable("nobody is there")
            case Trouble.REFUSED:
                raise ChannelRejected("the platform refused it")
            case Trouble.ANSWER_LOST:
                self._post(part, content)
                raise ChannelOutcomeUnknown("the line broke after the part had left")
            case Trouble.ANSWER_GARBLED:
                self._post(part, content)
                return b"\x00 no answer"
            case Trouble.STALLED:
                self._change()
                await anyio.sleep_forever()
                return None
            case _:
                assert_never(trouble)

    def _post(self, part: OutgoingPart, content: bytes | None) -> str:
        if isinstance(part.body, ReactionPart):
            if part.body.message not in self._ids():
                raise ChannelRejected("there is no such message")
            self.reactions[part.body.message] = part.body.emoji
            self._change()
            return part.body.message
        name = self.posts.add(part, content)
        self._change()
        return name

    def _ids(self) -> set[str]:
        return {f"m{message.offset}" for message in self._written} | {posted.id for posted in self.posted}

    @property
    def _shut(self) -> bool:
        return self._away or self._refuses

    def _let_in(self) -> None:
        if self._away:
            raise ChannelUnreachable("nobody is there")
        if self._refuses:
            raise ChannelRejected("the platform does not know us: get a new credential")

    @contextmanager
    def call(self) -> Generator[None]:
        """A call to it, while the block lasts.

        Raises:
            ChannelError: it is away, or refuses us.
        """
        with self._line():
            self._let_in()
            yield

    @contextmanager
    def _line(self) -> Generator[None]:
        self.lines += 1
        try:
            yield
        finally:
            self.lines -= 1

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def _until(self, holds: Callable[[], bool]) -> None:
        await anyio.lowlevel.checkpoint()
        while not holds():
            await self._changed.wait()


class MemoryChannel:
    """The `Channel` port over a platform in memory: polls, and acknowledges what the inbox has taken.

    Without a store of files it sends none; it fetches what people send in any case.
    """

    def __init__(
        self,
        platform: MemoryPlatform,
        *,
        clock: Clock,
        account: str = "bot",
        blobs: ReadsBlobs | None = None,
    ) -> None:
        self._blobs = blobs
        self._platform = platform
        self._clock = clock
        self._account = AccountId(account)

    @property
    def account(self) -> AccountId:
        """See `Channel.account`."""
        return self._account

    @property
    def features(self) -> ChannelFeatures:
        """As long a text as the platform takes; what was not acknowledged is offered again."""
        return ChannelFeatures(
            max_text=self._platform.max_text,
            text_unit=TextUnit.UTF16,
            offers_again=True,
            media_out=NO_MEDIA if self._blobs is None else MEDIA_OUT,
            media_in=MAX_FILE,
            reactions=REACTIONS,
        )

    @property
    def media_source(self) -> MemoryMedia:
        """See `FetchesMedia.media_source`."""
        return MemoryMedia(self._platform)

    @property
    def buttons(self) -> MemoryButtons | None:
        """See `ShowsButtons.buttons`."""
        return MemoryButtons(self._platform) if self._platform.has_buttons else None

    @property
    def drafts(self) -> MemoryDrafts:
        """See `ShowsDrafts.drafts`."""
        return MemoryDrafts(self._platform)

    @property
    def typing(self) -> MemoryTyping:
        """See `ShowsTyping.typing`."""
        return MemoryTyping(self._platform)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        """See `Channel.run`. A cursor is an offset; the platform keeps its own beside it."""
        after = 0 if cursor is None else int(cursor)
        while True:
            polled = await self._platform.poll(after=after)
            verdicts = await inbox.accept([Offered(message=message.as_told()) for message in polled])
            self._platform.refused_taps += [
                message.user
                for message, verdict in zip(polled, verdicts, strict=True)
                if message.facts.get("tap") and verdict is Verdict.DROPPED
            ]
            taken = _taken(polled, verdicts)
            self._platform.acknowledge(taken)
            after = max(after, taken)
            if taken < polled[-1].offset:
                await self._clock.sleep_until(self._clock.now() + PAUSE)

    async def send(self, part: OutgoingPart) -> Delivered:
        """See `Channel.send`."""
        must_carry(self.features, part.body)
        content: bytes | None = None
        if isinstance(part.body, MediaPart) and self._blobs is not None:
            async with self._blobs.open(part.body.blob) as pieces:
                content = b"".join([piece async for piece in pieces])
        answer = await self._platform.take(part, content)
        if not isinstance(answer, str):
            raise ChannelOutcomeUnknown("the platform's answer is none")
        if isinstance(part.body, ReactionPart):
            return Delivered()
        return Delivered(platform_id=PlatformMessageId(answer))


def _taken(polled: Sequence[Written], verdicts: Sequence[Verdict]) -> int:
    """The offset up to which everything may be acknowledged."""
    taken = polled[0].offset - 1
    for message, verdict in zip(polled, verdicts, strict=True):
        if verdict in _KEPT:
            break
        taken = message.offset
    return taken

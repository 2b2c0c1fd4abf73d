"""The platform in memory as the suite directs it: all that a platform can do, in the gateway's own words."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeAlias, cast

import anyio.lowlevel

from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.application.ports.clock import Clock
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaPart, Part, TextPart, choices_of
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.message import Attachment, AttachmentKind, Mention, Reference, ReferenceKind
from fermix.domain.normalise import RawMessage
from fermix.domain.route import Target
from fermix.testing.channel_conformance import PRIVATE, Fact, Shown, ShownFile, Trouble
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.memory_channel import MemoryChannel, MemoryPlatform
from fermix.testing.memory_posts import Posted

MAX_TEXT = 2000
CREDENTIAL = "memory-credential-5b1f"
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
THREAD = ThreadId("77")

_EARLIER = Reference(
    kind=ReferenceKind.REPLY, message=PlatformMessageId("m1"), author="Ben", text="what Ben said"
)
_PHOTO = Attachment(
    kind=AttachmentKind.FILE,
    reference="file-1",
    mime_type="application/pdf",
    size_bytes=1234,
    name="plan.pdf",
)


def _raw(value: Reference | Attachment | Mention) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _refers(kind: ReferenceKind, **changes: Any) -> tuple[RawMessage, Mapping[str, object]]:
    said: dict[str, Any] = {"message": PlatformMessageId("m1"), "author": "Ben", "text": "what Ben said"}
    reference = Reference(kind=kind, **{**said, **changes})
    return {"references": [_raw(reference)]}, {"references": (reference,)}


def _written_as(fact: Fact) -> tuple[str, RawMessage, Mapping[str, object]]:
    """The text of a message with a fact, what the platform says of it, and what the inbox must know then."""
    mention = Mention(id="fermix", start=0, end=7, is_us=True)
    others: dict[Fact, tuple[RawMessage, Mapping[str, object]]] = {
        Fact.SENDER: ({}, {"sender.id": "42", "sender.name": "Ann"}),
        Fact.BOT: ({"sender_is_bot": True}, {"sender.is_bot": True}),
        Fact.GROUP: (
            {"chat_kind": "group", "chat_title": "Garden", "chat_id": "-8", "reply_target": "-8"},
            {"chat.kind": "group", "chat.title": "Garden", "chat.id": "-8", "reply_target": "-8"},
        ),
        Fact.THREAD: ({"thread_ts": THREAD}, {"thread.id": THREAD}),
        Fact.REPLY: _refers(ReferenceKind.REPLY),
        Fact.OURS: _refers(ReferenceKind.REPLY, author="Fermix", is_ours=True),
        Fact.QUOTE: _refers(ReferenceKind.QUOTE, text="what"),
        Fact.FORWARD: _refers(ReferenceKind.FORWARD, message=None),
        Fact.EDIT: ({"edited_at": NOON}, {"edited_at": NOON}),
        Fact.ATTACHMENT: ({"attachments": [_raw(_PHOTO)]}, {"attachments": (_PHOTO,)}),
        Fact.ALBUM: ({"album": "a1"}, {"album": "a1"}),
        Fact.TIME: ({"sent_at": NOON}, {"sent_at": NOON}),
    }
    match fact:
        case Fact.MENTION:
            raw = RawMessage(raw_content="@fermix hello", mentions=[_raw(mention)], mentions_detectable=True)
            return "hello", raw, {"mentions": (mention,), "text": "hello", "mentions_detectable": True}
        case Fact.COMMAND:
            return "/help", {"raw_content": "/help@fermix"}, {"text": "/help", "raw_text": "/help@fermix"}
        case Fact.OTHERS_COMMAND:
            return "/help@other", {"command_bot": "other"}, {"command_bot": "other", "text": "/help@other"}
        case _:
            return "hello", *others[fact]


_GARBAGE: tuple[Mapping[str, object], ...] = (
    {"id": None},
    {"id": [PRIVATE], "content": {"text": PRIVATE}},
    {"content": None, "sender": 7},
    {"chat_id": {}, "reply_target": object()},
    {
        "references": PRIVATE,
        "attachments": [PRIVATE, None],
        "mentions": [{"id": 10**400}],
        "sent_at": PRIVATE,
    },
    {"something_new": PRIVATE},
)


class MemoryFarSide:
    """The `FarSide` of the channel in memory."""

    def __init__(self, platform: MemoryPlatform) -> None:
        self._platform = platform
        self._offsets: list[int] = []

    def user_writes(self, *texts: str) -> None:
        self._offsets += [each.offset for each in self._platform.user_writes(*texts)]

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        text, raw, expected = _written_as(fact)
        self._platform.user_writes(text, facts=raw)
        return expected

    def hands_over_garbage(self) -> None:
        for facts in _GARBAGE:
            self._platform.user_writes(PRIVATE, facts=cast("RawMessage", facts))

    @property
    def acknowledged(self) -> int:
        return sum(offset <= self._platform.acknowledged for offset in self._offsets)

    async def acknowledges(self, count: int) -> None:
        await self._platform.acknowledges(self._offsets[count - 1])

    async def shown(self, count: int) -> Sequence[Shown]:
        await self._platform.saw(count)
        return [
            Shown(
                text=each.part.body.text,
                id=each.id,
                in_thread=each.part.target.thread == THREAD,
                file=_file_of(each),
            )
            for each in self._platform.posted
        ]

    def user_sends_file(self, content: bytes) -> None:
        self._platform.user_sends_file(content)

    async def reactions(self, count: int) -> Sequence[str]:
        return await self._platform.reacted(count)

    async def typings(self, count: int) -> int:
        await anyio.lowlevel.checkpoint()
        return len(self._platform.typed)

    async def buttons(self, count: int) -> int:
        await anyio.lowlevel.checkpoint()
        return sum(len(self._platform.buttons(each)) for each in self._platform.posted)

    def user_taps(self, token: str) -> None:
        (under,) = (
            each
            for each in self._platform.posted
            if token in {choice.token for choice in choices_of(each.part.body)}
        )
        self._platform.user_taps(under)

    async def refusals(self, count: int) -> int:
        while len(self._platform.refused_taps) < count:
            await anyio.lowlevel.checkpoint()
        return len(self._platform.refused_taps)

    @property
    def tries(self) -> int:
        return self._platform.tries

    def trouble_next(self, trouble: Trouble) -> None:
        self._platform.trouble_next(trouble)

    async def stalled(self) -> None:
        await self._platform.stalled()

    def refuses_us(self) -> None:
        self._platform.refuses_us()

    def goes_away(self) -> None:
        self._platform.goes_away()

    def comes_back(self) -> None:
        self._platform.comes_back()

    async def settles(self) -> int:
        await anyio.lowlevel.checkpoint()
        return self._platform.lines


def _file_of(posted: Posted) -> ShownFile | None:
    body = posted.part.body
    if not isinstance(body, MediaPart) or posted.content is None:
        return None
    return ShownFile(content=posted.content, kind=body.kind, name=body.file_name)


def part_for(target: Target, body: Part, number: int) -> OutgoingPart:
    return OutgoingPart(target=target, body=body, nonce=f"nonce-{number}")


MakeChannel: TypeAlias = Callable[[Channel, MemoryPlatform], Channel]
"""Puts a channel around one, which saboteurs do; those that touch the platform are for memory alone."""


def as_it_is(channel: Channel, platform: MemoryPlatform) -> Channel:
    return channel


class OpenMemory:
    credential = CREDENTIAL

    def __init__(self, make: MakeChannel, clock: Clock) -> None:
        self.platform = MemoryPlatform(max_text=MAX_TEXT, has_buttons=True)
        self.far_side = MemoryFarSide(self.platform)
        self._make = make
        self._clock = clock
        self._blobs = MemoryBlobs(clock=clock)
        self.channel = self.again()
        self._numbers = count()

    def again(self) -> Channel:
        channel = MemoryChannel(self.platform, clock=self._clock, blobs=self._blobs)
        return self._make(channel, self.platform)

    async def keep(self, content: bytes) -> BlobRef:
        async with aclosing(in_pieces(content)) as pieces:
            return await self._blobs.store(pieces, limit=len(content))

    def part_of(self, body: Part) -> OutgoingPart:
        return self._to(body)

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        return self._to(TextPart(text=text), in_thread=in_thread)

    def _to(self, body: Part, *, in_thread: bool = False) -> OutgoingPart:
        target = Target(
            channel=ChannelName("memory"),
            account=AccountId("bot"),
            chat=ChatId("7"),
            thread=THREAD if in_thread else None,
            reply_to=PlatformMessageId("m1"),
        )
        return part_for(target, body, next(self._numbers))

"""Telegram as the suite directs it: the whole adapter with its client library, over the fake Bot API server."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from fermix.application.commands.registry import COMMANDS
from fermix.application.ports.blobs import Blobs, ReadsBlobs
from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.application.ports.clock import Clock
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, Part, TextPart
from fermix.domain.ids import ChannelName, ChatId, PlatformMessageId, ThreadId
from fermix.domain.message import Attachment, AttachmentKind, Mention, Reference, ReferenceKind
from fermix.domain.route import Target
from fermix.infrastructure.channels.telegram.api import BotApi
from fermix.infrastructure.channels.telegram.channel import TelegramChannel, account_of
from fermix.infrastructure.channels.telegram.pace import Pace
from fermix.testing.channel_conformance import PRIVATE, WAIT, Fact, Shown, ShownFile, Trouble
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.memory_channel import MemoryPlatform
from fermix.testing.servers.telegram_api.records import ShownFile as ShownByServer
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.contract.channel.memory_far_side import MakeChannel, as_it_is
from tests.contract.channel.platforms import HastyClock

OLGA = 1001
BEN = 2002
FORUM = -1001700
TOPIC = 77
THEN = 1_790_000_000
PATIENCE = timedelta(seconds=5)

_OLGA = {"id": OLGA, "is_bot": False, "first_name": "Olga", "username": "olga"}
_BEN = {"id": BEN, "is_bot": False, "first_name": "Ben", "username": "ben"}
_PAPER = {
    "file_id": "PAPER",
    "file_unique_id": "U1",
    "file_name": "plan.pdf",
    "mime_type": "application/pdf",
    "file_size": 1234,
}
_PICTURE = {"file_id": "PICTURE", "file_unique_id": "U2", "width": 90, "height": 60, "file_size": 99}

GARBAGE: tuple[Mapping[str, Any], ...] = (
    {},
    {"message": None},
    {"message": PRIVATE},
    {"message": [PRIVATE]},
    {"message": {"message_id": PRIVATE, "text": PRIVATE}},
    {"message": {"message_id": 1, "date": 1, "chat": PRIVATE, "text": PRIVATE}},
    {"message": {"message_id": 1, "date": 1, "chat": {"id": OLGA, "type": "private"}, "text": PRIVATE}},
    {"message": {"message_id": 1, "date": PRIVATE, "chat": {"id": OLGA, "type": "private"}, "from": _OLGA}},
    {"message": {"message_id": 1, "date": -(10**18), "chat": {"id": OLGA, "type": "private"}, "from": _OLGA}},
    {"message": {"message_id": 1, "date": 1, "chat": {"id": OLGA, "type": "private"}, "from": PRIVATE}},
    {"something_new": {"text": PRIVATE}},
    {"edited_message": 5, "message": 5},
)
_IN_A_MESSAGE: tuple[Mapping[str, Any], ...] = (
    {"text": 5},
    {"text": {"a": PRIVATE}},
    {"text": [PRIVATE]},
    {"entities": PRIVATE},
    {"entities": [{"type": "mention", "offset": "x", "length": None}]},
    {"entities": [{"type": "mention", "offset": -5, "length": 10**12}]},
    {"entities": [{"type": "text_mention", "offset": 0, "length": 3, "user": PRIVATE}]},
    {"entities": [{"type": PRIVATE, "offset": 0, "length": 1}]},
    {"reply_to_message": PRIVATE},
    {"reply_to_message": {"message_id": 1}},
    {"quote": PRIVATE},
    {"forward_origin": {"type": PRIVATE}},
    {"forward_origin": {"type": "user", "date": 1}},
    {"photo": [PRIVATE]},
    {"photo": [{"file_id": 5, "width": "x"}]},
    {"document": {"file_size": "x"}},
    {"message_thread_id": PRIVATE, "is_topic_message": True},
    {"sender_chat": PRIVATE},
    {"chat": {"id": 10**400, "type": "private"}},
    {"chat": {"id": OLGA, "type": PRIVATE}},
    {"message_id": 2**80},
    {"media_group_id": {"a": 1}},
    {"is_topic_message": PRIVATE, "from": None},
    {"pinned_message": {"pinned_message": {"pinned_message": PRIVATE}}},
)
"""Laid over a message that is in order otherwise."""


def _instant(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


class TelegramFarSide:
    """The `FarSide` of Telegram."""

    def __init__(self, server: TelegramServer) -> None:
        self.server = server
        self._updates: list[int] = []
        self._is_away_for_one = False
        self._next: Trouble | None = None
        server.knows(OLGA)
        server.knows(FORUM, topics=(TOPIC,))

    def user_writes(self, *texts: str) -> None:
        for text in texts:
            self.server.user_writes(OLGA, text, entities=())
            self._updates.append(self.server.pending[-1]["update_id"])

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        return _SHOWS[fact](self.server)

    def hands_over_garbage(self) -> None:
        for update in GARBAGE:
            self.server.update(update)
        for raw in _IN_A_MESSAGE:
            self.server.user_writes(OLGA, PRIVATE, raw=raw)

    @property
    def acknowledged(self) -> int:
        return sum(update < self.server.confirmed_offset for update in self._updates)

    async def acknowledges(self, count: int) -> None:
        await self.server.until_confirmed(self._updates[count - 1] + 1)

    async def shown(self, count: int) -> Sequence[Shown]:
        return [
            Shown(
                text=each.text,
                id=str(each.message_id),
                in_thread=each.thread == TOPIC,
                file=None if each.file is None else _shown_file(each.file),
            )
            for each in await self.server.until_sent(count)
        ]

    def user_sends_file(self, content: bytes) -> None:
        number = self.server.add_file(content, f"documents/file_{len(content)}.bin")
        paper = {"file_id": number, "file_unique_id": "U3", "file_name": "f.bin", "file_size": len(content)}
        self.server.user_writes(OLGA, raw={"document": paper})

    async def reactions(self, count: int) -> Sequence[str]:
        return await self.server.reactions(count)

    async def typings(self, count: int) -> int:
        return len(await self.server.until_called("sendChatAction", count))

    @property
    def tries(self) -> int:
        return len(self.server.called("sendMessage"))

    def trouble_next(self, trouble: Trouble) -> None:
        self._next = trouble

    def meets_a_part(self) -> None:
        """A part has been made that is about to be sent: arrange what is to become of it."""
        self.server.comes_back()
        trouble, self._next = self._next, None
        match trouble:
            case Trouble.TOO_FAST:
                self.server.fault("sendMessage", retry_after=int(WAIT.total_seconds()))
            case Trouble.UNREACHABLE:
                self.server.goes_away()
            case Trouble.REFUSED:
                self.server.fault("sendMessage", status=403)
            case Trouble.ANSWER_LOST:
                self.server.fault("sendMessage", drop="after")
            case Trouble.ANSWER_GARBLED:
                self.server.fault("sendMessage", body="<html>502</html>")
            case Trouble.STALLED:
                self.server.fault("sendMessage", hang=float("inf"))
            case None:
                pass

    async def buttons(self, count: int) -> int:
        return sum(len(self.server.buttons(one.chat, one.message_id)) for one in self.server.sent())

    def user_taps(self, token: str) -> None:
        asked = self.server.sent()[0]
        self.server.user_taps(asked.chat, asked.message_id)

    async def refusals(self, count: int) -> int:
        answered = await self.server.until_called("answerCallbackQuery", count)
        return sum(bool(call.parameters.get("show_alert")) for call in answered)

    async def stalled(self) -> None:
        await self.server.until_met()

    def refuses_us(self) -> None:
        self.server.revoke_token()

    def goes_away(self) -> None:
        self.server.goes_away()

    def comes_back(self) -> None:
        self.server.comes_back()

    async def settles(self) -> int:
        with suppress(AssertionError):
            await self.server.until_connections(1, seconds=0.5)
        return self.server.connections


_KINDS = {"photo": MediaKind.IMAGE, **{kind.value: kind for kind in MediaKind if kind is not MediaKind.IMAGE}}


def _shown_file(file: ShownByServer) -> ShownFile:
    return ShownFile(content=file.content, kind=_KINDS[file.kind], name=file.name)


def _reference(kind: ReferenceKind, **said: Any) -> Mapping[str, object]:
    return {"references": (Reference(kind=kind, **said),)}


def _sender(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(OLGA, "hello", raw={"from": _OLGA})
    return {"sender.id": str(OLGA), "sender.name": "olga", "sender.is_bot": False, "chat.kind": "direct"}


def _bot(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(FORUM, "beep", raw={"from": {**_BEN, "is_bot": True}})
    return {"sender.id": str(BEN), "sender.is_bot": True}


def _group(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(FORUM, "hello all")
    title = f"Chat {abs(FORUM)}"
    return {"chat.id": str(FORUM), "chat.kind": "group", "chat.title": title, "reply_target": str(FORUM)}


def _thread(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(FORUM, "in a topic", thread=TOPIC)
    return {"thread.id": str(TOPIC), "chat.id": str(FORUM), "references": ()}


def _reply(server: TelegramServer) -> Mapping[str, object]:
    earlier = server.user_writes(FORUM, "what Ben said", raw={"from": _BEN})
    server.user_writes(FORUM, "hear, hear", reply_to=earlier)
    return _reference(ReferenceKind.REPLY, message=str(earlier), author="ben", text="what Ben said")


def _ours(server: TelegramServer) -> Mapping[str, object]:
    us = {"id": server.bot_id, "is_bot": True, "first_name": "Fermix", "username": "fermix_test_bot"}
    earlier = server.user_writes(FORUM, "what we said", raw={"from": us})
    server.user_writes(FORUM, "no", reply_to=earlier)
    said = {"message": str(earlier), "author": "fermix_test_bot", "text": "what we said"}
    return _reference(ReferenceKind.REPLY, **said, is_ours=True)


def _quote(server: TelegramServer) -> Mapping[str, object]:
    earlier = server.user_writes(FORUM, "what Ben said", raw={"from": _BEN})
    server.user_writes(FORUM, "who?", reply_to=earlier, raw={"quote": {"text": "Ben", "position": 5}})
    return _reference(ReferenceKind.QUOTE, message=str(earlier), author="ben", text="Ben")


def _forward(server: TelegramServer) -> Mapping[str, object]:
    origin = {"type": "user", "sender_user": _BEN, "date": THEN}
    server.user_writes(OLGA, "what Ben said", raw={"forward_origin": origin})
    forward = _reference(ReferenceKind.FORWARD, author="ben", text="what Ben said")
    return {**forward, "text": "", "raw_text": "what Ben said"}


def _edit(server: TelegramServer) -> Mapping[str, object]:
    number = server.user_writes(OLGA, "helo")
    server.user_writes(OLGA, "hello", edit_of=number, raw={"edit_date": THEN})
    return {"edited_at": _instant(THEN), "id": str(number), "text": "hello"}


def _attachment(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(OLGA, raw={"document": _PAPER, "caption": "the plan"})
    paper = Attachment(
        kind=AttachmentKind.FILE,
        reference="PAPER",
        mime_type="application/pdf",
        size_bytes=1234,
        name="plan.pdf",
    )
    return {"attachments": (paper,), "text": "the plan"}


def _album(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(OLGA, raw={"photo": [_PICTURE], "media_group_id": "a1"})
    server.user_writes(OLGA, raw={"photo": [_PICTURE], "media_group_id": "a1"})
    picture = Attachment(
        kind=AttachmentKind.IMAGE, reference="PICTURE", mime_type="image/jpeg", size_bytes=99
    )
    return {"album": "a1", "attachments": (picture,)}


def _mention(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(FORUM, "@fermix_test_bot 🎉 hello")
    mention = Mention(id="fermix_test_bot", start=0, end=16, is_us=True)
    return {"mentions": (mention,), "mentions_detectable": True, "text": "🎉 hello"}


def _command(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(FORUM, "/help@fermix_test_bot me")
    return {"text": "/help me", "raw_text": "/help@fermix_test_bot me", "is_for_another_bot": False}


def _others_command(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(FORUM, "/help@another_bot")
    return {"command_bot": "another_bot", "text": "/help@another_bot", "is_for_another_bot": True}


def _time(server: TelegramServer) -> Mapping[str, object]:
    server.user_writes(OLGA, "then", raw={"date": THEN})
    return {"sent_at": _instant(THEN), "edited_at": None}


_SHOWS = {
    Fact.SENDER: _sender,
    Fact.BOT: _bot,
    Fact.GROUP: _group,
    Fact.THREAD: _thread,
    Fact.REPLY: _reply,
    Fact.OURS: _ours,
    Fact.QUOTE: _quote,
    Fact.FORWARD: _forward,
    Fact.EDIT: _edit,
    Fact.ATTACHMENT: _attachment,
    Fact.ALBUM: _album,
    Fact.MENTION: _mention,
    Fact.COMMAND: _command,
    Fact.OTHERS_COMMAND: _others_command,
    Fact.TIME: _time,
}


def telegram(server: TelegramServer, clock: Clock, blobs: ReadsBlobs | None = None) -> TelegramChannel:
    """The adapter, whole."""
    return TelegramChannel(
        api=BotApi(
            token=server.token,
            root=server.api_base_url,
            blobs=blobs or MemoryBlobs(clock=clock),
            answer_seconds=PATIENCE.total_seconds(),
        ),
        account=account_of(server.token),
        commands=COMMANDS,
        pace=Pace(None),
        clock=clock,
    )


class OpenTelegram:
    def __init__(
        self,
        server: TelegramServer,
        clock: StoppedClock,
        channel: Channel,
        following: Channel,
        blobs: Blobs,
    ) -> None:
        self._blobs = blobs
        self.far_side = TelegramFarSide(server)
        self.channel = channel
        self._clock = clock
        self.credential = server.token.partition(":")[2]
        self._following = following
        self._numbers = count()

    def again(self) -> Channel:
        return self._following

    async def keep(self, content: bytes) -> BlobRef:
        async with aclosing(in_pieces(content)) as pieces:
            return await self._blobs.store(pieces, limit=len(content))

    def part_of(self, body: Part) -> OutgoingPart:
        return self._to(body)

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        return self._to(TextPart(text=text), in_thread=in_thread)

    def _to(self, body: Part, *, in_thread: bool = False) -> OutgoingPart:
        self._clock.advance(WAIT)
        self.far_side.meets_a_part()
        target = Target(
            channel=ChannelName("telegram"),
            account=self.channel.account,
            chat=ChatId(str(FORUM if in_thread else OLGA)),
            thread=ThreadId(str(TOPIC)) if in_thread else None,
            reply_to=PlatformMessageId("1"),
        )
        return OutgoingPart(target=target, body=body, nonce=f"nonce-{next(self._numbers)}")


class TelegramHarness:
    """A `ChannelHarness` over Telegram."""

    def __init__(self, make: MakeChannel = as_it_is, *, patience: timedelta = PATIENCE) -> None:
        self._make = make
        self._patience = patience

    @property
    def patience(self) -> timedelta:
        return self._patience

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenTelegram]:
        clock = HastyClock()
        blobs = MemoryBlobs(clock=clock)
        with telegram_server() as server:
            async with (
                telegram(server, clock, blobs) as channel,
                telegram(server, clock, blobs) as following,
            ):
                platform = MemoryPlatform()
                yield OpenTelegram(
                    server, clock, self._make(channel, platform), self._make(following, platform), blobs
                )

"""Discord as the suite directs it: the whole adapter with its client library, over the fake REST and gateway.

Discord acknowledges nothing: what is taken is what the cursor covers that was committed with it. So the harness
keeps that cursor as a home's ledger does, and hands it to every channel that listens, the next process's included.
It begins as the cursor of a home in which Ann has written before, since a home that has never heard of a chat
cannot read it back.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import anyio

from fermix.application.commands.registry import COMMANDS
from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.blobs import Blobs, ReadsBlobs
from fermix.application.ports.channel import (
    Buttons,
    Channel,
    ChannelFeatures,
    Delivered,
    Drafts,
    FetchesMedia,
    Inbox,
    MediaSource,
    Offered,
    OutgoingPart,
    ShowsButtons,
    ShowsDrafts,
    ShowsTyping,
    Typing,
    Verdict,
)
from fermix.application.ports.clock import Clock
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import Part, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.message import Attachment, AttachmentKind, Mention, Reference, ReferenceKind
from fermix.domain.route import Target
from fermix.infrastructure.channels.discord.channel import DiscordChannel, account_of
from fermix.infrastructure.channels.discord.cursor import Place, Places, read_places
from fermix.infrastructure.channels.discord.rest import Requests
from fermix.testing.channel_conformance import (
    PRIVATE,
    WAIT,
    CannotArrange,
    Fact,
    Gap,
    Shown,
    ShownFile,
    Trouble,
)
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.memory_channel import MemoryPlatform
from fermix.testing.servers.discord_api.people_side import CHAT, person
from fermix.testing.servers.discord_api.server import DiscordServer, discord_server
from fermix.testing.servers.discord_api.world import BOT, GENERAL, GUILD, THREAD
from tests.contract.channel.memory_far_side import MakeChannel, as_it_is
from tests.contract.channel.platforms import HastyClock

PATIENCE = timedelta(seconds=5)
THEN = "2026-11-30T12:00:00.000000+00:00"
_BEN = person("700000000000000077", "ben")
_SEND = "POST messages"
_FOR_ONE_ALONE = 64
"""The flag of an answer that only the one who tapped sees."""

DISCORD_GAPS = (
    Gap(
        check="it_tells_thread", reason="a thread is a channel of its own; the one it hangs on is its parent"
    ),
    Gap(check="it_tells_quote", reason="Discord has no quotes of some words"),
    Gap(check="it_tells_album", reason="pictures that belong together come in one message"),
    Gap(check="it_tells_command", reason="a command is picked from Discord's list, which names the bot"),
    Gap(
        check="a_wait_for_drafts_keeps_no_reply_from_leaving",
        reason="a draft is opened as any message, and Discord's wait is for all messages of a chat",
    ),
    Gap(check="it_tells_others_command", reason="a command of another bot is told to that bot alone"),
)

GARBAGE: tuple[tuple[str, Any], ...] = (
    ("MESSAGE_CREATE", None),
    ("MESSAGE_CREATE", PRIVATE),
    ("MESSAGE_CREATE", [PRIVATE]),
    ("MESSAGE_CREATE", {}),
    ("MESSAGE_CREATE", {"author": PRIVATE, "content": PRIVATE}),
    ("MESSAGE_UPDATE", {"content": PRIVATE, "edited_timestamp": THEN, "author": {}}),
    ("MESSAGE_UPDATE", [PRIVATE]),
    ("INTERACTION_CREATE", PRIVATE),
    ("INTERACTION_CREATE", {"type": 2, "data": {"name": PRIVATE}}),
    ("INTERACTION_CREATE", {"type": 3, "data": {"custom_id": "confirm:ABCDEFGH"}, "message": PRIVATE}),
    ("GUILD_CREATE", {"id": PRIVATE}),
    ("CHANNEL_UPDATE", PRIVATE),
    ("THREAD_CREATE", {"guild_id": PRIVATE}),
    ("SOMETHING_NEW", {"text": PRIVATE}),
)
_IN_A_MESSAGE: tuple[Mapping[str, Any], ...] = (
    {"content": None},
    {"content": [PRIVATE]},
    {"content": {"a": PRIVATE}},
    {"id": 5},
    {"id": PRIVATE},
    {"id": "9" * 50},
    {"channel_id": None},
    {"channel_id": {"a": PRIVATE}},
    {"author": {"id": PRIVATE, "username": PRIVATE}},
    {"author": {"id": None}},
    {"author": {"id": "7", "username": {"a": 1}}},
    {"type": PRIVATE},
    {"type": None},
    {"type": {}},
    {"mentions": PRIVATE},
    {"mentions": [PRIVATE, None, {"id": []}]},
    {"member": PRIVATE},
    {"member": {"roles": PRIVATE, "nick": 5}},
    {"guild_id": {"a": 1}},
    {"timestamp": PRIVATE},
    {"attachments": PRIVATE},
    {"attachments": [PRIVATE]},
    {"attachments": [{"id": PRIVATE}]},
    {"message_reference": PRIVATE},
    {"message_reference": {"type": 1}, "message_snapshots": [PRIVATE, {"message": PRIVATE}]},
    {"referenced_message": PRIVATE, "message_reference": {"message_id": PRIVATE}},
    {"poll": PRIVATE, "sticker_items": PRIVATE},
)
"""Laid over a message that is in order otherwise."""


class Home:
    """What a home's ledger keeps of one channel: the cursor that was committed last."""

    def __init__(self) -> None:
        self.cursor = Places(chats={CHAT: Place(message=1)}).text
        self._changed = anyio.Event()

    @property
    def place(self) -> int:
        return read_places(self.cursor).chats[CHAT].message

    def commits(self, cursor: CursorMove | None, verdicts: Sequence[Verdict]) -> None:
        if cursor is not None and not {Verdict.UNAVAILABLE, Verdict.FULL} & set(verdicts):
            self.cursor = cursor.value
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    async def until_at(self, message: int) -> None:
        while self.place < message:
            await self._changed.wait()


class _Kept:
    """The inbox under test, whose commits the home keeps."""

    def __init__(self, inbox: Inbox, home: Home) -> None:
        self._inbox = inbox
        self._home = home

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        verdicts = await self._inbox.accept(offered, cursor=cursor)
        self._home.commits(cursor, verdicts)
        return verdicts

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        return await self._inbox.moved(old=old, new=new)

    def unreadable(self) -> None:
        self._inbox.unreadable()


class OfHome:
    """A channel that listens from where its home had read, whatever cursor it is given."""

    def __init__(self, inside: Channel, home: Home) -> None:
        self._inside = inside
        self._home = home

    @property
    def account(self) -> AccountId:
        return self._inside.account

    @property
    def features(self) -> ChannelFeatures:
        return self._inside.features

    @property
    def media_source(self) -> MediaSource | None:
        return self._inside.media_source if isinstance(self._inside, FetchesMedia) else None

    @property
    def drafts(self) -> Drafts | None:
        return self._inside.drafts if isinstance(self._inside, ShowsDrafts) else None

    @property
    def buttons(self) -> Buttons | None:
        return self._inside.buttons if isinstance(self._inside, ShowsButtons) else None

    @property
    def typing(self) -> Typing | None:
        return self._inside.typing if isinstance(self._inside, ShowsTyping) else None

    async def send(self, part: OutgoingPart) -> Delivered:
        return await self._inside.send(part)

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        await self._inside.run(_Kept(inbox, self._home), cursor=self._home.cursor)


class DiscordFarSide:
    """The `FarSide` of Discord."""

    def __init__(self, server: DiscordServer, home: Home) -> None:
        self.server = server
        self._home = home
        self._written: list[int] = []
        self._taps: list[str] = []
        self._next: Trouble | None = None

    def user_writes(self, *texts: str) -> None:
        self._written += [int(self.server.user_writes(text)) for text in texts]

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        if fact not in _SHOWS:
            raise CannotArrange("Discord does not know it")
        return _SHOWS[fact](self.server)

    def hands_over_garbage(self) -> None:
        for event, data in GARBAGE:
            self.server.happens(event, data)
        for raw in _IN_A_MESSAGE:
            self.server.user_writes(PRIVATE, raw=raw)

    def user_sends_file(self, content: bytes) -> None:
        self.server.user_writes("", files=[("f.bin", content, "application/octet-stream")])

    async def reactions(self, count: int) -> Sequence[str]:
        reactions = await self.server.until(partial(self.server.reacted, count))
        return [emoji for _chat, _message, emoji in reactions]

    @property
    def acknowledged(self) -> int:
        return sum(message <= self._home.place for message in self._written)

    async def acknowledges(self, count: int) -> None:
        await self._home.until_at(self._written[count - 1])

    async def shown(self, count: int) -> Sequence[Shown]:
        return [
            Shown(
                text=each.text,
                id=each.id,
                in_thread=each.chat == THREAD,
                file=ShownFile(name=each.files[0][0], content=each.files[0][1]) if each.files else None,
            )
            for each in await self.server.until_sent(count)
        ]

    async def typings(self, count: int) -> int:
        return len(self.server.typing)

    async def buttons(self, count: int) -> int:
        return sum(len(each.buttons) for each in await self.server.until_sent(1))

    def user_taps(self, token: str) -> None:
        (asked,) = (each for each in self.server.sent(1) if each.buttons)
        self._taps.append(self.server.user_taps(asked.id, f"confirm:{token}", chat=asked.chat))

    async def refusals(self, count: int) -> int:
        answers = [await self.server.until(partial(self.server.answer, tap)) for tap in self._taps[:count]]
        return sum(bool(answer.get("data", {}).get("flags", 0) & _FOR_ONE_ALONE) for answer in answers)

    @property
    def tries(self) -> int:
        return len(self.server.called(_SEND)) + len(self.server.called("PUT reactions"))

    def trouble_next(self, trouble: Trouble) -> None:
        self._next = trouble

    def meets_a_part(self) -> None:
        """A part has been made that is about to be sent: arrange what is to become of it."""
        self.server.comes_back()
        trouble, self._next = self._next, None
        match trouble:
            case Trouble.TOO_FAST:
                self.server.fault(_SEND, retry_after=WAIT.total_seconds())
            case Trouble.UNREACHABLE:
                self.server.goes_away()
            case Trouble.REFUSED:
                self.server.fault(_SEND, status=403, code=50007)
            case Trouble.ANSWER_LOST:
                self.server.fault(_SEND, drop="after")
            case Trouble.ANSWER_GARBLED:
                self.server.fault(_SEND, body="<html>502</html>")
            case Trouble.STALLED:
                self.server.fault(_SEND, hang=True)
            case None:
                pass

    async def stalled(self) -> None:
        await self.server.until(self.server.until_met)

    def refuses_us(self) -> None:
        self.server.revoke_token()

    def goes_away(self) -> None:
        self.server.goes_away()

    def comes_back(self) -> None:
        self.server.comes_back()

    async def settles(self) -> int:
        with suppress(AssertionError):
            await self.server.until_connections(1, seconds=1)
        return self.server.connections


def _reference(kind: ReferenceKind, **said: Any) -> Mapping[str, object]:
    return {"references": (Reference(kind=kind, **said),)}


def _sender(server: DiscordServer) -> Mapping[str, object]:
    server.user_writes("hello")
    return {"sender.id": person()["id"], "sender.name": "Ann", "sender.is_bot": False, "chat.kind": "direct"}


def _bot(server: DiscordServer) -> Mapping[str, object]:
    server.user_writes("beep", user={**_BEN, "bot": True})
    return {"sender.id": _BEN["id"], "sender.is_bot": True}


def _group(server: DiscordServer) -> Mapping[str, object]:
    server.user_writes("hello all", chat=GENERAL)
    facts = {"chat.id": GENERAL, "chat.kind": "channel", "chat.title": "roses", "chat.guild": GUILD}
    return {**facts, "reply_target": GENERAL, "sender.roles": ("820000000000000007",)}


def _reply(server: DiscordServer) -> Mapping[str, object]:
    earlier = server.user_writes("what Ben said", user=_BEN)
    server.user_writes("hear, hear", reply_to=earlier)
    return _reference(ReferenceKind.REPLY, message=earlier, author="Ben", text="what Ben said")


def _ours(server: DiscordServer) -> Mapping[str, object]:
    us = person(BOT, "fermix", bot=True)
    earlier = server.user_writes("what we said", user=us)
    server.user_writes("no", reply_to=earlier)
    said = {"message": earlier, "author": "Fermix", "text": "what we said"}
    return _reference(ReferenceKind.REPLY, **said, is_ours=True)


def _forward(server: DiscordServer) -> Mapping[str, object]:
    snapshot = {"message": {"content": "what Ben said", "attachments": []}}
    reference = {"type": 1, "message_id": "777", "channel_id": "5"}
    server.user_writes("", raw={"message_reference": reference, "message_snapshots": [snapshot]})
    return {**_reference(ReferenceKind.FORWARD, message="777", text="what Ben said"), "text": ""}


def _edit(server: DiscordServer) -> Mapping[str, object]:
    number = server.user_writes("helo")
    server.user_edits(number, "hello", at=THEN)
    return {"edited_at": datetime.fromisoformat(THEN), "id": number, "text": "hello"}


def _attachment(server: DiscordServer) -> Mapping[str, object]:
    number = server.user_writes("the plan", files=[("plan.pdf", b"%PDF-1234", "application/pdf")])
    (file,) = server.attachments(number)
    paper = Attachment(
        kind=AttachmentKind.FILE,
        reference=f"{CHAT}/{number}/{file}",
        mime_type="application/pdf",
        size_bytes=9,
        name="plan.pdf",
    )
    return {"attachments": (paper,), "text": "the plan"}


def _mention(server: DiscordServer) -> Mapping[str, object]:
    server.user_writes(f"<@{BOT}> 🎉 hello", chat=GENERAL)
    mention = Mention(id=BOT, start=0, end=21, is_us=True)
    return {"mentions": (mention,), "mentions_detectable": True, "text": "🎉 hello"}


def _time(server: DiscordServer) -> Mapping[str, object]:
    server.user_writes("then", raw={"timestamp": THEN})
    return {"sent_at": datetime.fromisoformat(THEN).astimezone(UTC), "edited_at": None}


_SHOWS = {
    Fact.SENDER: _sender,
    Fact.BOT: _bot,
    Fact.GROUP: _group,
    Fact.REPLY: _reply,
    Fact.OURS: _ours,
    Fact.FORWARD: _forward,
    Fact.EDIT: _edit,
    Fact.ATTACHMENT: _attachment,
    Fact.MENTION: _mention,
    Fact.TIME: _time,
}


def discord(server: DiscordServer, clock: Clock, blobs: ReadsBlobs | None = None) -> DiscordChannel:
    """The adapter, whole."""
    requests = Requests(
        token=server.token,
        root=server.api_base_url,
        clock=clock,
        answer_seconds=PATIENCE.total_seconds(),
    )
    return DiscordChannel(
        requests=requests,
        account=account_of(server.token),
        commands=COMMANDS,
        gateway=None,
        blobs=blobs or MemoryBlobs(clock=clock),
        clock=clock,
    )


class OpenDiscord:
    def __init__(
        self,
        *,
        far_side: DiscordFarSide,
        clock: HastyClock,
        channel: Channel,
        following: Channel,
        blobs: Blobs,
    ) -> None:
        self.far_side = far_side
        self._blobs = blobs
        self.channel = channel
        self._clock = clock
        self.credential = far_side.server.token
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
            channel=ChannelName("discord"),
            account=self.channel.account,
            chat=ChatId(THREAD if in_thread else CHAT),
            reply_to=PlatformMessageId("1"),
        )
        return OutgoingPart(target=target, body=body, nonce=f"nonce-{next(self._numbers)}")


class DiscordHarness:
    """A `ChannelHarness` over Discord."""

    def __init__(self, make: MakeChannel = as_it_is, *, patience: timedelta = PATIENCE) -> None:
        self._make = make
        self._patience = patience

    @property
    def patience(self) -> timedelta:
        return self._patience

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenDiscord]:
        clock, home, platform = HastyClock(), Home(), MemoryPlatform()
        with discord_server(now=lambda: clock.now().timestamp()) as server:
            blobs = MemoryBlobs(clock=clock)
            async with (
                discord(server, clock, blobs) as channel,
                discord(server, clock, blobs) as following,
            ):
                yield OpenDiscord(
                    far_side=DiscordFarSide(server, home),
                    clock=clock,
                    channel=OfHome(self._make(channel, platform), home),
                    following=OfHome(self._make(following, platform), home),
                    blobs=blobs,
                )

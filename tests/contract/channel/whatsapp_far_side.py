"""WhatsApp as the suite directs it: the whole adapter over the fake Cloud API, called as Meta calls it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import anyio

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.application.ports.clock import Clock
from fermix.application.ports.webhooks import WebhookRequest
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, Part, TextPart
from fermix.domain.ids import ChannelName, ChatId, PlatformMessageId
from fermix.domain.message import Attachment, AttachmentKind, Mention, Reference, ReferenceKind
from fermix.domain.route import Target
from fermix.infrastructure.channels.whatsapp.channel import WhatsAppChannel
from fermix.infrastructure.channels.whatsapp.graph import Graph, GraphPlace
from fermix.infrastructure.channels.whatsapp.webhook import Proofs
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
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.memory_channel import MemoryPlatform
from fermix.testing.servers.whatsapp_api.server import (
    ACCESS_TOKEN,
    APP_SECRET,
    DISPLAY_NUMBER,
    PHONE_NUMBER_ID,
    VERIFY_TOKEN,
    WhatsAppServer,
    change,
    encoded,
    envelope,
    signed,
    whatsapp_server,
)
from fermix.testing.servers.whatsapp_api.world import Sent
from tests.contract.channel.memory_far_side import MakeChannel, as_it_is
from tests.contract.channel.platforms import HastyClock

OLGA = "15551230001"
BEN = "15551230002"
GROUP = "Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD"
THEN = 1_790_000_000
PATIENCE = timedelta(seconds=5)
_ACKNOWLEDGED_WITHIN = 0.3
_PAUSE = 0.01

WHATSAPP_GAPS = (
    Gap(check="it_tells_bot", reason="nobody on WhatsApp is marked as a bot"),
    Gap(check="it_tells_group", reason="a message of a group does not say what the group is called"),
    Gap(check="it_tells_thread", reason="WhatsApp has no threads"),
    Gap(check="it_tells_quote", reason="a whole message is quoted, and only its id is told"),
    Gap(check="it_tells_command", reason="commands name no bot on WhatsApp"),
    Gap(check="it_tells_others_command", reason="commands name no bot on WhatsApp"),
    Gap(check="a_part_goes_to_its_thread", reason="WhatsApp has no threads"),
)

_PAPER = {"id": "900900", "mime_type": "application/pdf", "filename": "plan.pdf", "caption": "the plan"}
_PICTURE = {"id": "900901", "mime_type": "image/jpeg"}

GARBAGE: tuple[object, ...] = (
    [PRIVATE],
    {"object": PRIVATE},
    {"object": "whatsapp_business_account", "entry": PRIVATE},
    {"object": "whatsapp_business_account", "entry": [PRIVATE, None, {"changes": PRIVATE}]},
    envelope({"field": "messages", "value": PRIVATE}),
    envelope({"field": "messages", "value": {"metadata": PRIVATE, "messages": [PRIVATE]}}),
    envelope({"field": PRIVATE, "value": {"messages": [PRIVATE]}}),
    envelope(change({"messages": PRIVATE, "contacts": PRIVATE, "statuses": PRIVATE, "errors": PRIVATE})),
    envelope(change({"messages": [PRIVATE, None, 5, [], {}], "contacts": [PRIVATE, {"wa_id": 5}]})),
    envelope(change({"statuses": [PRIVATE, {"status": "failed", "id": {}, "errors": [PRIVATE]}]})),
    envelope(change({"errors": [PRIVATE, {"code": PRIVATE}]})),
)
_IN_A_MESSAGE: tuple[Mapping[str, Any], ...] = (
    {"type": None},
    {"type": {"a": PRIVATE}},
    {"id": 5},
    {"id": ""},
    {"from": {"a": PRIVATE}},
    {"from": None},
    {"timestamp": {"a": PRIVATE}},
    {"timestamp": "9" * 500},
    {"text": PRIVATE},
    {"text": {"body": [PRIVATE]}},
    {"context": PRIVATE},
    {"context": {"id": 5, "from": [PRIVATE], "forwarded": PRIVATE}},
    {"group_id": {"a": PRIVATE}},
    {"type": "image", "image": PRIVATE},
    {"type": "image", "image": {"id": "../../secret"}},
    {"type": "document", "document": {"id": "9", "filename": [PRIVATE], "mime_type": 5, "caption": 7}},
    {"type": "location", "location": {"latitude": PRIVATE}},
    {"type": "contacts", "contacts": [PRIVATE, {"name": PRIVATE, "phones": PRIVATE}]},
    {"type": "interactive", "interactive": {"button_reply": PRIVATE}},
    {"type": "button", "button": {"text": 5}},
    {"type": "edit", "edit": PRIVATE},
    {"type": "edit", "edit": {"original_message_id": 5, "message": {"type": "text"}}},
    {"type": "something_new", "something_new": PRIVATE},
    {"from_user_id": [PRIVATE]},
)
"""Laid over a message that is in order otherwise."""


def whatsapp(server: WhatsAppServer, clock: Clock, blobs: Blobs) -> WhatsAppChannel:
    """The adapter, whole."""
    place = GraphPlace(
        root=server.root, version="v19.0", phone_number_id=PHONE_NUMBER_ID, access_token=ACCESS_TOKEN
    )
    return WhatsAppChannel(
        graph=Graph(place, answer_seconds=PATIENCE.total_seconds()),
        proofs=Proofs(app_secret=APP_SECRET, verify_token=VERIFY_TOKEN),
        blobs=blobs,
        clock=clock,
    )


def post(body: bytes, headers: Mapping[str, str] | None = None) -> WebhookRequest:
    """A call of Meta's, signed unless other headers are given."""
    return WebhookRequest(
        method="POST", query={}, headers=signed(body) if headers is None else headers, body=body
    )


class Meta:
    """Calls whichever process listens, until it is told that the call was taken; one call after another."""

    def __init__(self, *channels: WhatsAppChannel) -> None:
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
                status = (await channel.webhook.answer(post(body))).status
                if status != 503:
                    return status
        return 503

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class WhatsAppFarSide:
    """The `FarSide` of WhatsApp."""

    def __init__(self, server: WhatsAppServer, meta: Meta) -> None:
        self.server = server
        self._meta = meta
        self._next: Trouble | None = None

    def user_writes(self, *texts: str) -> None:
        for text in texts:
            message = self.server.message(sender=OLGA, text=text)
            self._meta.calls(self.server.notification(message), counts=True)

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        if fact not in _SHOWS:
            raise CannotArrange("WhatsApp does not tell it")
        message, told = _SHOWS[fact](self.server)
        self._meta.calls(self.server.notification(message))
        return told

    def hands_over_garbage(self) -> None:
        for payload in GARBAGE:
            self._meta.calls(encoded(payload))
        for raw in _IN_A_MESSAGE:
            message = {**self.server.message(sender=OLGA, text=PRIVATE), **raw}
            self._meta.calls(encoded(envelope(change({"messages": [message]}))))

    @property
    def acknowledged(self) -> int:
        return self._meta.taken

    async def acknowledges(self, count: int) -> None:
        await self._meta.until_taken(count)

    async def shown(self, count: int) -> Sequence[Shown]:
        return [self._as_shown(each) for each in await self.server.until_sent(count)]

    def _as_shown(self, sent: Sent) -> Shown:
        file = None
        if sent.kind != "text":
            kept = self.server.world.files[sent.content["id"]]
            kind = MediaKind.VOICE if sent.content.get("voice") else MediaKind(sent.kind)
            file = ShownFile(content=kept.data, kind=kind, name=sent.content.get("filename"))
        return Shown(text=sent.text, id=sent.id, in_thread=False, file=file)

    def user_sends_file(self, content: bytes) -> None:
        media = self.server.world.store(content, "application/octet-stream")
        document = {"id": media, "mime_type": "application/octet-stream", "filename": "file"}
        message = self.server.message(sender=OLGA, kind="document", document=document)
        self._meta.calls(self.server.notification(message))

    async def reactions(self, count: int) -> Sequence[str]:
        return await self.server.until_reacted(count)

    async def typings(self, count: int) -> int:
        return len(self.server.world.notices)

    @property
    def tries(self) -> int:
        return self.server.called("/messages")

    def trouble_next(self, trouble: Trouble) -> None:
        self._next = trouble

    def meets_a_part(self) -> None:
        """A part has been made that is about to be sent: arrange what is to become of it."""
        self.server.comes_back()
        trouble, self._next = self._next, None
        match trouble:
            case Trouble.TOO_FAST:
                wait = int(WAIT.total_seconds())
                self.server.fault("messages", status=400, code=131056, retry_after=wait)
            case Trouble.UNREACHABLE:
                self.server.goes_away()
            case Trouble.REFUSED:
                self.server.fault("messages", status=400, code=131047)
            case Trouble.ANSWER_LOST:
                self.server.fault("messages", drop="after")
            case Trouble.ANSWER_GARBLED:
                self.server.fault("messages", body="<html>502</html>")
            case Trouble.STALLED:
                self.server.fault("messages", hang=float("inf"))
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
            await self.server.until_connections(1, seconds=1)
        return self.server.connections


_Told = tuple[dict[str, Any], Mapping[str, object]]


def _instant(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _refers(kind: ReferenceKind, **said: Any) -> Mapping[str, object]:
    return {"references": (Reference(kind=kind, **said),)}


def _sender(server: WhatsAppServer) -> _Told:
    told = {"sender.id": OLGA, "sender.name": f"User {OLGA}", "sender.is_bot": False, "chat.kind": "direct"}
    return server.message(sender=OLGA, text="hello"), told


def _group(server: WhatsAppServer) -> _Told:
    raise CannotArrange("a message of a group does not say what the group is called")


def _reply(server: WhatsAppServer) -> _Told:
    message = server.message(text="hear, hear", context={"from": BEN, "id": "wamid.BEN"})
    return message, _refers(ReferenceKind.REPLY, message=PlatformMessageId("wamid.BEN"), author=BEN)


def _ours(server: WhatsAppServer) -> _Told:
    message = server.message(text="no", context={"from": DISPLAY_NUMBER, "id": "wamid.US"})
    said = {"message": PlatformMessageId("wamid.US"), "author": DISPLAY_NUMBER, "is_ours": True}
    return message, _refers(ReferenceKind.REPLY, **said)


def _forward(server: WhatsAppServer) -> _Told:
    message = server.message(text="what Ben said", context={"forwarded": True})
    told = _refers(ReferenceKind.FORWARD, text="what Ben said")
    return message, {**told, "text": "", "raw_text": "what Ben said"}


def _edit(server: WhatsAppServer) -> _Told:
    edit = {"original_message_id": "wamid.OLD", "message": {"type": "text", "text": {"body": "hello"}}}
    told = {"edited_at": _instant(THEN), "id": "wamid.OLD", "key": "wamid.OLD", "text": "hello"}
    return server.message(kind="edit", edit=edit), told


def _attachment(server: WhatsAppServer) -> _Told:
    paper = Attachment(
        kind=AttachmentKind.FILE, reference="900900", mime_type="application/pdf", name="plan.pdf"
    )
    return server.message(kind="document", document=_PAPER), {"attachments": (paper,), "text": "the plan"}


def _album(server: WhatsAppServer) -> _Told:
    picture = Attachment(kind=AttachmentKind.IMAGE, reference="900901", mime_type="image/jpeg")
    message = server.message(sender=OLGA, kind="image", image=_PICTURE)
    return message, {"album": f"pictures of {OLGA}", "attachments": (picture,)}


def _mention(server: WhatsAppServer) -> _Told:
    name = f"@{DISPLAY_NUMBER}"
    mention = Mention(id=DISPLAY_NUMBER, start=0, end=len(name), is_us=True)
    message = server.message(text=f"{name} 🎉 hello", group_id=GROUP)
    return message, {"mentions": (mention,), "mentions_detectable": True, "text": "🎉 hello"}


def _time(server: WhatsAppServer) -> _Told:
    return server.message(text="then"), {"sent_at": _instant(THEN), "edited_at": None}


_SHOWS = {
    Fact.SENDER: _sender,
    Fact.GROUP: _group,
    Fact.REPLY: _reply,
    Fact.OURS: _ours,
    Fact.FORWARD: _forward,
    Fact.EDIT: _edit,
    Fact.ATTACHMENT: _attachment,
    Fact.ALBUM: _album,
    Fact.MENTION: _mention,
    Fact.TIME: _time,
}


class OpenWhatsApp:
    """Two processes over one number; one of them listens."""

    def __init__(
        self,
        server: WhatsAppServer,
        clock: StoppedClock,
        blobs: Blobs,
        ways: tuple[WhatsAppChannel, WhatsAppChannel],
        make: MakeChannel,
    ) -> None:
        self.meta = Meta(*ways)
        self.credential = ACCESS_TOKEN
        self._far_side = WhatsAppFarSide(server, self.meta)
        self._blobs = blobs
        self._clock = clock
        platform = MemoryPlatform()
        self.channel, self._following = (make(each, platform) for each in ways)
        self._numbers = count()

    @property
    def far_side(self) -> WhatsAppFarSide:
        return self._far_side

    def again(self) -> Channel:
        return self._following

    async def keep(self, content: bytes) -> BlobRef:
        async with aclosing(in_pieces(content)) as pieces:
            return await self._blobs.store(pieces, limit=len(content))

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        if in_thread:
            raise CannotArrange("WhatsApp has no threads")
        return self.part_of(TextPart(text=text))

    def part_of(self, body: Part) -> OutgoingPart:
        self._clock.advance(WAIT)
        self._far_side.meets_a_part()
        target = Target(
            channel=ChannelName("whatsapp"),
            account=self.channel.account,
            chat=ChatId(OLGA),
            reply_to=PlatformMessageId("wamid.IN1"),
        )
        return OutgoingPart(target=target, body=body, nonce=f"nonce-{next(self._numbers)}")


class WhatsAppHarness:
    """A `ChannelHarness` over WhatsApp."""

    def __init__(self, make: MakeChannel = as_it_is, *, patience: timedelta = PATIENCE) -> None:
        self._make = make
        self._patience = patience

    @property
    def patience(self) -> timedelta:
        return self._patience

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[OpenWhatsApp]:
        clock = HastyClock()
        blobs = MemoryBlobs(clock=clock)
        with whatsapp_server() as server:
            async with (
                whatsapp(server, clock, blobs) as channel,
                whatsapp(server, clock, blobs) as following,
                anyio.create_task_group() as tasks,
            ):
                opened = OpenWhatsApp(server, clock, blobs, (channel, following), self._make)
                tasks.start_soon(opened.meta.run)
                yield opened
                tasks.cancel_scope.cancel()

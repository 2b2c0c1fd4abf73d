"""The same signed bytes to us and to pywa, a client that is none of ours, and its requests to our fake server."""

from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from typing import Any

import anyio
import httpx
import pytest

from fermix.application.ports.channel import (
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    OutgoingPart,
)
from fermix.application.ports.webhooks import WebhookRequest
from fermix.domain.delivery import MediaKind, MediaPart, ReactionPart, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.message import InboundMessage, ReferenceKind
from fermix.domain.normalise import Registration, normalise
from fermix.domain.route import Target
from fermix.infrastructure.channels.whatsapp.channel import WhatsAppChannel
from fermix.infrastructure.channels.whatsapp.errors import read_refusal, send_error
from fermix.infrastructure.channels.whatsapp.wire_in import NotDelivered, read
from fermix.testing.channel_conformance import PRIVATE
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
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
from tests.contract.channel.whatsapp_far_side import GROUP, OLGA, whatsapp

pytestmark = [pytest.mark.anyio, pytest.mark.needs("package:pywa_async")]

USER = "US.13491208655302741918"
HERE = Registration(channel=ChannelName("whatsapp"), account=AccountId(PHONE_NUMBER_ID))

MESSAGES: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": {"body": "café @home http://x.test 🎉"}},
    {"type": "text", "text": {"body": "yes"}, "context": {"from": DISPLAY_NUMBER, "id": "wamid.US"}},
    {"type": "text", "text": {"body": "look"}, "context": {"forwarded": True}},
    {"type": "text", "text": {"body": "all"}, "group_id": GROUP},
    {"type": "image", "image": {"id": "901", "mime_type": "image/jpeg", "sha256": "x", "caption": "cat"}},
    {"type": "video", "video": {"id": "902", "mime_type": "video/mp4", "sha256": "x"}},
    {
        "type": "audio",
        "audio": {"id": "903", "mime_type": "audio/ogg; codecs=opus", "sha256": "x", "voice": True},
    },
    {
        "type": "document",
        "document": {"id": "904", "mime_type": "application/pdf", "sha256": "x", "filename": "plan.pdf"},
    },
    {
        "type": "sticker",
        "sticker": {"id": "905", "mime_type": "image/webp", "sha256": "x", "animated": False},
    },
)


@pytest.fixture
def server() -> Iterator[WhatsAppServer]:
    with whatsapp_server() as opened:
        yield opened


@pytest.fixture
async def peer(server: WhatsAppServer) -> AsyncIterator[Any]:
    """Their client, pointed at our fake server."""
    async with httpx.AsyncClient() as session:
        client = import_module("pywa_async").WhatsApp(
            phone_id=PHONE_NUMBER_ID,
            token=ACCESS_TOKEN,
            session=session,
            server=None,
            verify_token=VERIFY_TOKEN,
            app_secret=APP_SECRET,
        )
        session.base_url = httpx.URL(f"{server.root}/v22.0")
        yield client


@pytest.fixture
async def channel(server: WhatsAppServer) -> AsyncIterator[WhatsAppChannel]:
    clock = StoppedClock()
    async with whatsapp(server, clock, MemoryBlobs(clock=clock)) as opened:
        yield opened


def body_of(message: dict[str, Any]) -> bytes:
    contacts = [{"wa_id": OLGA, "user_id": USER, "profile": {"name": "Olga"}}]
    whole = {"from": OLGA, "from_user_id": USER, "id": "wamid.1", "timestamp": "1790000000", **message}
    return encoded(envelope(change({"contacts": contacts, "messages": [whole]})))


def our_reading(body: bytes) -> InboundMessage:
    (raw,) = read(body, phone_number_id=PHONE_NUMBER_ID)
    assert isinstance(raw, dict)
    found = normalise(raw, HERE)
    assert isinstance(found, InboundMessage)
    return found


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message["type"]))
async def test_both_read_the_same_in_a_message(peer: Any, message: dict[str, Any]) -> None:
    body, heard = body_of(message), list[Any]()

    async def hears(_client: Any, update: Any) -> None:
        heard.append(update)

    peer.add_handlers(import_module("pywa_async.handlers").MessageHandler(hears))
    assert await peer.webhook_update_validator(body, signed(body)["x-hub-signature-256"]) is None
    assert await peer.webhook_update_handler(body) == ("ok", 200)
    (theirs,) = heard
    ours = our_reading(body)
    assert (theirs.id, theirs.timestamp) == (ours.id, ours.sent_at)
    assert theirs.from_user.name == ours.sender.name
    assert {theirs.from_user.wa_id, theirs.from_user.bsuid} == {ours.sender.id, *ours.sender.aliases}
    assert (theirs.text or theirs.caption or "") == ours.raw_text
    kinds = {reference.kind for reference in ours.references}
    assert theirs.forwarded is (ReferenceKind.FORWARD in kinds)
    replied = [one.message for one in ours.references if one.kind is ReferenceKind.REPLY]
    assert ([theirs.reply_to_message.id] if theirs.reply_to_message else []) == replied
    assert (theirs.chat.type.value.lower() == "group") is (ours.chat.kind.value == "group")
    if theirs.media is not None and message["type"] != "sticker":
        (attachment,) = ours.attachments
        assert (theirs.media.id, theirs.media.mime_type) == (attachment.reference, attachment.mime_type)
        assert getattr(theirs.media, "filename", None) == attachment.name


@pytest.mark.parametrize(
    ("status", "code"),
    [("sent", None), ("delivered", None), ("read", None), ("failed", 131047), ("failed", 131026)],
)
async def test_both_read_the_same_in_what_became_of_a_message(
    peer: Any, status: str, code: int | None
) -> None:
    told: dict[str, Any] = {
        "id": "wamid.OUT1",
        "status": status,
        "timestamp": "1790000000",
        "recipient_id": OLGA,
        "recipient_user_id": USER,
    }
    if code is not None:
        told["errors"] = [
            {"code": code, "title": "words", "message": "words", "error_data": {"details": "words"}}
        ]
    contacts = [{"wa_id": OLGA, "user_id": USER, "profile": {"name": "Olga"}}]
    body, heard = encoded(envelope(change({"contacts": contacts, "statuses": [told]}))), list[Any]()

    async def hears(_client: Any, update: Any) -> None:
        heard.append(update)

    peer.add_handlers(import_module("pywa_async.handlers").MessageStatusHandler(hears))
    assert await peer.webhook_update_handler(body) == ("ok", 200)
    (theirs,) = heard
    assert (theirs.id, theirs.status.value) == ("wamid.OUT1", status)
    ours = list(read(body, phone_number_id=PHONE_NUMBER_ID))
    failed = [] if theirs.error is None else [NotDelivered(message=theirs.id, code=theirs.error.code)]
    assert ours == failed
    assert bool(failed) is (code is not None)


async def test_both_judge_signatures_and_challenges_alike(peer: Any, channel: WhatsAppChannel) -> None:
    body = body_of(MESSAGES[0])
    right = signed(body)["x-hub-signature-256"]
    other = signed(body, "another secret")["x-hub-signature-256"]
    for signature in (right, right[:-1], right.upper(), "", "sha256=", other):
        refused = await peer.webhook_update_validator(body, signature)
        request = WebhookRequest(
            method="POST", query={}, headers={"x-hub-signature-256": signature}, body=body
        )
        answer = await channel.webhook.answer(request)
        assert (refused is None) is (answer.status != 401), signature
    for token in (VERIFY_TOKEN, VERIFY_TOKEN[:-1], ""):
        text, status = await peer.webhook_challenge_handler(vt=token, ch="42")
        query = {"hub.mode": "subscribe", "hub.verify_token": token, "hub.challenge": "42"}
        answer = await channel.webhook.answer(WebhookRequest(method="GET", query=query, headers={}, body=b""))
        assert (status == 200) is (answer.status == 200)
        assert status != 200 or answer.body == str(text).encode()


async def test_both_send_the_same(peer: Any, channel: WhatsAppChannel, server: WhatsAppServer) -> None:
    target = Target(channel=HERE.channel, account=HERE.account, chat=ChatId(OLGA))
    wamid = server.message(text="hi")["id"]

    async def we_send(body: TextPart | ReactionPart, chat: str = OLGA) -> None:
        to = Target(channel=target.channel, account=target.account, chat=ChatId(chat))
        await channel.send(OutgoingPart(target=to, body=body, nonce="n"))

    await peer.send_message(OLGA, "hello")
    await we_send(TextPart(text="hello"))
    await peer.send_message(USER, "hello")
    await we_send(TextPart(text="hello"), USER)
    theirs, ours, theirs_hidden, ours_hidden = (one.body for one in server.sent(4))
    assert _said(theirs) == _said(ours)
    assert _said(theirs_hidden) == _said(ours_hidden)
    await peer.send_reaction(OLGA, "👍", wamid)
    assert server.world.reactions == {wamid: "👍"}
    await we_send(ReactionPart(message=PlatformMessageId(wamid), emoji="🎉"))
    assert server.world.reactions == {wamid: "🎉"}


def _said(body: dict[str, Any]) -> dict[str, Any]:
    """A request without what stands for itself when it is left out."""
    text = {name: value for name, value in body["text"].items() if value is not False}
    return {**body, "text": text}


async def test_both_upload_and_fetch_files_of_each_other(
    peer: Any, server: WhatsAppServer, tmp_path: Any
) -> None:
    content = b"\x89PNG\r\n\x1a\n" + b"x" * 70_000
    clock = StoppedClock()
    blobs = MemoryBlobs(clock=clock)
    async with whatsapp(server, clock, blobs) as ours:
        file = tmp_path / "a.png"
        file.write_bytes(content)
        media = await peer.upload_media(file, mime_type="image/png")
        async with ours.media_source.fetch(str(getattr(media, "id", media)), limit=len(content)) as pieces:
            assert b"".join([piece async for piece in pieces]) == content
        blob = await blobs.store(in_pieces(content), limit=len(content))
        target = Target(channel=HERE.channel, account=HERE.account, chat=ChatId(OLGA))
        body = MediaPart(kind=MediaKind.IMAGE, blob=blob, file_name="a.png", mime_type="image/png")
        await ours.send(OutgoingPart(target=target, body=body, nonce="n"))
        (sent,) = server.sent(1)
        url = await peer.get_media_url(sent.content["id"])
        with anyio.fail_after(5):
            assert await peer.get_media_bytes(url=url.url) == content


@pytest.mark.parametrize(
    "code", [0, 3, 10, 190, 200, 4, 80007, 130429, 131048, 131056, 131026, 131047, 131051, 131009]
)
async def test_both_sort_an_error_alike(code: int) -> None:
    errors = import_module("pywa.errors")
    theirs = errors.WhatsAppError._get_exception(code)
    ours = send_error(read_refusal(400, {}, encoded({"error": {"code": code, "message": PRIVATE}})))
    expected = (
        ChannelUnreachable
        if issubclass(theirs, errors.AuthorizationError)
        else ChannelRateLimited
        if issubclass(theirs, errors.ThrottlingError)
        else ChannelRejected
    )
    assert isinstance(ours, expected)


async def test_an_error_of_our_server_is_one_to_them_and_they_come_back_when_it_does(
    peer: Any, server: WhatsAppServer
) -> None:
    errors = import_module("pywa.errors")
    server.fault("messages", status=400, code=131047)
    with pytest.raises(errors.ReEngagementMessage):
        await peer.send_message(OLGA, "hello")
    server.goes_away()
    with pytest.raises(httpx.TransportError):
        await peer.send_message(OLGA, "hello")
    server.comes_back()
    await peer.send_message(OLGA, "hello")
    assert server.sent(1)[0].text == "hello"

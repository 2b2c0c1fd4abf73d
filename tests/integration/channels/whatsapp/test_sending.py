"""What leaves for WhatsApp: texts, files, reactions and the sign of typing, over the fake Cloud API."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fermix.application.ports.blobs import BlobMissing, Blobs
from fermix.application.ports.channel import (
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    OutgoingPart,
)
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, MediaPart, Part, ReactionPart, TextPart
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.route import Target
from fermix.infrastructure.blobs.store import FolderBlobs
from fermix.infrastructure.channels.whatsapp.channel import WhatsAppChannel
from fermix.infrastructure.system.ids import Uuids
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import in_pieces
from fermix.testing.servers.whatsapp_api.server import ACCESS_TOKEN, WhatsAppServer, whatsapp_server
from tests.contract.channel.whatsapp_far_side import GROUP, OLGA, whatsapp

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


@pytest.fixture
def server() -> Iterator[WhatsAppServer]:
    with whatsapp_server() as opened:
        yield opened


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def blobs(clock: StoppedClock, tmp_path: Path) -> Blobs:
    return FolderBlobs(tmp_path / "blobs", clock=clock, ids=Uuids())


@pytest.fixture
async def channel(
    server: WhatsAppServer, clock: StoppedClock, blobs: Blobs
) -> AsyncIterator[WhatsAppChannel]:
    async with whatsapp(server, clock, blobs) as opened:
        yield opened


async def stored(blobs: Blobs, data: bytes) -> BlobRef:
    async with aclosing(in_pieces(data)) as pieces:
        return await blobs.store(pieces, limit=len(data))


def part(body: Part, *, chat: str = OLGA, reply_to: str | None = "wamid.IN1") -> OutgoingPart:
    target = Target(
        channel=ChannelName("whatsapp"),
        account=AccountId("100200300"),
        chat=ChatId(chat),
        reply_to=None if reply_to is None else PlatformMessageId(reply_to),
    )
    return OutgoingPart(target=target, body=body, nonce="nonce")


@pytest.mark.parametrize(
    ("chat", "fields"),
    [
        (OLGA, {"recipient_type": "individual", "to": OLGA}),
        ("US.13491208655302741918", {"recipient_type": "individual", "recipient": "US.13491208655302741918"}),
        (GROUP, {"recipient_type": "group", "to": GROUP, "context": {"message_id": "wamid.IN1"}}),
    ],
)
async def test_people_their_hidden_numbers_and_groups_are_each_called_as_meta_wants_it(
    channel: WhatsAppChannel, server: WhatsAppServer, chat: str, fields: dict[str, object]
) -> None:
    await channel.send(part(TextPart(text="hi"), chat=chat))
    (sent,) = server.sent(1)
    named = {"recipient_type", "to", "recipient", "context"}
    assert {name: value for name, value in sent.body.items() if name in named} == fields


async def test_a_number_that_is_not_known_as_it_is_spelt_is_tried_as_the_other_one_once(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    server.world.unknown_numbers = {"5215512340000"}
    await channel.send(part(TextPart(text="hi"), chat="5215512340000"))
    assert server.sent(1)[0].to == "525512340000"
    server.world.unknown_numbers |= {"525512340000"}
    with pytest.raises(ChannelRejected, match="131030"):
        await channel.send(part(TextPart(text="hi"), chat="5215512340000"))
    assert server.called("/messages") == 4


async def test_a_wait_for_one_chat_holds_up_no_other_and_one_for_all_holds_up_all(
    channel: WhatsAppChannel, server: WhatsAppServer, clock: StoppedClock
) -> None:
    async def wait_of(chat: str) -> float | None:
        try:
            await channel.send(part(TextPart(text="hi"), chat=chat))
        except ChannelRateLimited as exc:
            return exc.retry_after.total_seconds()
        return None

    server.fault("messages", status=400, code=131056)
    assert [await wait_of(OLGA), await wait_of(OLGA), await wait_of("15550000000")] == [6, 6, None]
    clock.advance(timedelta(seconds=6))
    server.fault("messages", status=429, code=130429, retry_after=9)
    assert [await wait_of(OLGA), await wait_of("15550000000")] == [9, 9]
    clock.advance(timedelta(seconds=9))
    assert await wait_of(OLGA) is None
    assert server.called("/messages") == 4


@pytest.mark.parametrize(
    ("kind", "mime", "shown_as", "uploaded_as"),
    [
        (MediaKind.IMAGE, "image/png", "image", "image/png"),
        (MediaKind.IMAGE, "image/gif", "document", "image/gif"),
        (MediaKind.VIDEO, "video/mp4", "video", "video/mp4"),
        (MediaKind.VIDEO, "video/webm", "document", "video/webm"),
        (MediaKind.AUDIO, "audio/mpeg", "audio", "audio/mpeg"),
        (MediaKind.VOICE, "audio/ogg; codecs=opus", "audio", "audio/ogg; codecs=opus"),
        (MediaKind.VOICE, "audio/mpeg", "audio", "audio/mpeg"),
        (MediaKind.DOCUMENT, "application/pdf", "document", "application/pdf"),
        (MediaKind.IMAGE, "image/png\r\n\r\nx", "document", "application/octet-stream"),
    ],
)
async def test_a_file_is_uploaded_and_shown_as_what_it_can_be(
    channel: WhatsAppChannel,
    server: WhatsAppServer,
    blobs: Blobs,
    kind: MediaKind,
    mime: str,
    shown_as: str,
    uploaded_as: str,
) -> None:
    blob = await stored(blobs, b"\x00\r\n--bytes" * 50_000)
    caption = "" if kind in {MediaKind.AUDIO, MediaKind.VOICE} else "**look**"
    body = MediaPart(kind=kind, blob=blob, file_name="a.bin", mime_type=mime, caption=caption)
    delivered = await channel.send(part(body))
    (sent,) = server.sent(1)
    assert (sent.kind, sent.id) == (shown_as, delivered.platform_id)
    assert sent.text == ("*look*" if caption else "")
    assert sent.content.get("filename") == ("a.bin" if shown_as == "document" else None)
    assert sent.content.get("voice") == (True if uploaded_as.startswith("audio/ogg") else None)
    file = server.world.files[sent.content["id"]]
    assert (file.mime_type, file.data) == (uploaded_as, b"\x00\r\n--bytes" * 50_000)


@pytest.mark.requirement("outbound_media.caps")
@pytest.mark.parametrize(
    ("kind", "mime", "megabytes"),
    [
        (MediaKind.IMAGE, "image/png", 5),
        (MediaKind.AUDIO, "audio/mpeg", 16),
        (MediaKind.VOICE, "audio/ogg", 16),
        (MediaKind.VIDEO, "video/mp4", 16),
    ],
)
async def test_a_file_at_its_cap_is_taken_and_one_byte_more_is_refused_unasked(
    channel: WhatsAppChannel,
    server: WhatsAppServer,
    blobs: Blobs,
    kind: MediaKind,
    mime: str,
    megabytes: int,
) -> None:
    blob = await stored(blobs, bytes(megabytes * MIB))
    body = MediaPart(kind=kind, blob=blob, file_name="a.bin", mime_type=mime)
    await channel.send(part(body))
    more = BlobRef(digest=blob.digest, size_bytes=megabytes * MIB + 1)
    with pytest.raises(ChannelRejected, match=str(megabytes * MIB)):
        await channel.send(part(replace(body, blob=more)))
    assert server.called("/media") == 1


@pytest.mark.requirement("outbound_media.caps")
async def test_a_document_over_its_cap_is_refused_unasked(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    blob = BlobRef(digest="0" * 64, size_bytes=100 * MIB + 1)
    with pytest.raises(ChannelRejected, match=str(100 * MIB)):
        await channel.send(part(MediaPart(kind=MediaKind.DOCUMENT, blob=blob, file_name="a.pdf")))
    assert server.world.calls == []


@pytest.mark.parametrize(
    "fault", [{"drop": "after"}, {"drop": "before"}, {"status": 500}, {"body": "<html>"}]
)
async def test_an_upload_that_fails_can_be_repeated_since_nobody_has_seen_anything(
    channel: WhatsAppChannel,
    server: WhatsAppServer,
    blobs: Blobs,
    fault: dict[str, str],
) -> None:
    blob = await stored(blobs, b"pdf")
    body = MediaPart(kind=MediaKind.DOCUMENT, blob=blob, file_name="a.pdf", mime_type="application/pdf")
    server.fault("media", **fault)
    with pytest.raises(ChannelUnreachable):
        await channel.send(part(body))
    assert server.called("/messages") == 0
    await channel.send(part(body))
    server.sent(1)


async def test_a_file_that_is_not_kept_any_more_is_told_and_nothing_is_sent(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    gone = BlobRef(digest="0" * 64, size_bytes=3)
    with pytest.raises(BlobMissing):
        await channel.send(part(MediaPart(kind=MediaKind.DOCUMENT, blob=gone, file_name="a.pdf")))
    assert server.called("/messages") == 0
    await channel.send(part(TextPart(text="still here")))
    server.sent(1)


async def test_any_single_emoji_is_put_on_a_message_and_nothing_else(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    wamid = server.message(text="what do you think?")["id"]
    body = ReactionPart(message=PlatformMessageId(wamid), emoji="👩‍🚀")
    assert (await channel.send(part(body))).platform_id is None
    assert server.world.reactions == {wamid: "👩‍🚀"}
    for emoji in ("ok", "👍👍", ""):
        with pytest.raises(ChannelRejected):
            await channel.send(part(ReactionPart(message=PlatformMessageId(wamid), emoji=emoji)))


async def test_typing_is_shown_once_in_a_while_and_again_after_a_message(
    channel: WhatsAppChannel, server: WhatsAppServer, clock: StoppedClock
) -> None:
    target = part(TextPart(text="x")).target
    for seconds in (0, 4, 4):
        clock.advance(timedelta(seconds=seconds))
        await channel.typing.show(target)
    assert len(server.world.notices) == 1
    clock.advance(timedelta(seconds=20))
    await channel.typing.show(target)
    await channel.send(part(TextPart(text="block")))
    await channel.typing.show(target)
    assert [notice["message_id"] for notice in server.world.notices] == ["wamid.IN1"] * 3
    await channel.typing.show(part(TextPart(text="x"), reply_to=None).target)
    assert len(server.world.notices) == 3


async def test_the_token_goes_into_a_header_and_no_address(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    await channel.send(part(TextPart(text="hi")))
    assert set(server.world.tokens_seen) == {f"Bearer {ACCESS_TOKEN}"}
    assert [path for _method, path in server.world.calls if ACCESS_TOKEN in path] == []

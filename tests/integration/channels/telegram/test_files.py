"""Files and reactions over the fake Bot API server, and what the server says about them."""

import json
import logging
import math
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.blobs import BlobMissing
from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
    ChannelUnreachable,
    MediaTooLarge,
)
from fermix.domain.blob import BlobRef
from fermix.domain.caps import MIB
from fermix.domain.delivery import MediaKind, MediaPart, Part, ReactionPart
from fermix.domain.ids import PlatformMessageId
from fermix.infrastructure.channels.telegram.channel import TelegramChannel
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.integration.channels.telegram.bot import bot, part

pytestmark = pytest.mark.anyio

OLGA = 1001
GROUP = -4001


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server() as running:
        running.knows(OLGA)
        yield running


class Bench:
    """A bot, and the store that it sends from."""

    def __init__(self, channel: TelegramChannel, blobs: MemoryBlobs) -> None:
        self.channel = channel
        self._blobs = blobs

    async def file(self, content: bytes = b"\x89PNG\r\n", **about: Any) -> MediaPart:
        stored = await self._blobs.store(in_pieces(content), limit=len(content))
        given = {"kind": MediaKind.DOCUMENT, "file_name": "a.bin", **about}
        return MediaPart(blob=stored, **given)


@asynccontextmanager
async def bench(server: TelegramServer) -> AsyncGenerator[Bench]:
    blobs = MemoryBlobs(clock=SystemClock())
    async with bot(server, blobs=blobs) as channel:
        with anyio.fail_after(20):
            yield Bench(channel, blobs)


async def test_a_file_goes_out_with_its_looks_in_its_topic_pointing_at_what_it_answers(
    server: TelegramServer,
) -> None:
    server.knows(-1005, topics=(7,))
    asked = server.user_writes(-1005, "a plan?", thread=7)
    async with bench(server) as at:
        body = await at.file(
            b"%PDF", file_name="plan.pdf", mime_type="application/pdf", caption="**Look**: `x`"
        )
        delivered = await at.channel.send(part(body, chat=-1005, thread=7, reply_to=asked))
    (shown,) = server.sent(1)
    assert (shown.text, shown.thread, shown.reply_to) == ("Look: x", 7, asked)
    assert [entity["type"] for entity in shown.entities] == ["bold", "code"]
    assert shown.file is not None
    assert (shown.file.kind, shown.file.name, shown.file.mime_type) == (
        "document",
        "plan.pdf",
        "application/pdf",
    )
    assert (shown.file.content, delivered.platform_id) == (b"%PDF", str(shown.message_id))


@pytest.mark.parametrize(
    "name", ['a"b.txt', "a\r\nContent-Type: x\r\n\r\nb.txt", "ü\U0001f389.txt", "../../etc/passwd", "\ud800"]
)
async def test_a_name_cannot_leave_its_header(server: TelegramServer, name: str) -> None:
    async with bench(server) as at:
        await at.channel.send(part(await at.file(b"content", file_name=name)))
    (shown,) = server.sent(1)
    assert shown.file is not None
    assert shown.file.content == b"content"
    assert shown.file.mime_type == "application/octet-stream"


async def test_a_file_that_holds_boundaries_arrives_whole(server: TelegramServer) -> None:
    content = b"--x\r\n\r\n--" * 1000 + b"\r\n----"
    async with bench(server) as at:
        await at.channel.send(part(await at.file(content)))
    (shown,) = server.sent(1)
    assert shown.file is not None
    assert shown.file.content == content


async def test_the_largest_picture_and_the_largest_document_are_taken(server: TelegramServer) -> None:
    async with bench(server) as at:
        await at.channel.send(part(await at.file(bytes(10 * MIB), kind=MediaKind.IMAGE)))
        await at.channel.send(part(await at.file(bytes(50 * MIB))))
    assert [len(each.file.content) for each in server.sent(2) if each.file] == [10 * MIB, 50 * MIB]


async def test_a_picture_that_telegram_cannot_show_goes_out_as_a_document(server: TelegramServer) -> None:
    async with bench(server) as at:
        await at.channel.send(part(await at.file(b"%PDF", kind=MediaKind.IMAGE, file_name="a.png")))
    (shown,) = server.sent(1)
    assert shown.file is not None
    assert (shown.file.kind, shown.file.name) == ("document", "a.png")


async def test_a_caption_whose_looks_are_refused_goes_out_raw(server: TelegramServer) -> None:
    server.fault("sendDocument", status=400, description="Bad Request: can't parse entities")
    async with bench(server) as at:
        await at.channel.send(part(await at.file(caption="**look**")))
    assert [each.text for each in server.sent(1)] == ["**look**"]


async def test_a_group_that_has_moved_gets_its_file_at_the_new_place(server: TelegramServer) -> None:
    server.knows(GROUP)
    server.upgrade(GROUP, -1009)
    async with bench(server) as at:
        delivered = await at.channel.send(part(await at.file(), chat=GROUP))
    assert (delivered.moved_to, server.sent(1)[0].chat) == ("-1009", -1009)


async def test_a_file_that_the_store_has_not_is_not_sent_and_says_so(server: TelegramServer) -> None:
    missing = BlobRef(digest="0" * 64, size_bytes=3)
    async with bench(server) as at:
        with pytest.raises(BlobMissing):
            await at.channel.send(part(replace(await at.file(), blob=missing)))
        assert server.called("sendDocument") == []


async def test_a_file_that_breaks_off_in_the_store_was_not_sent(server: TelegramServer) -> None:
    class Breaking(MemoryBlobs):
        @override
        @asynccontextmanager
        async def open(self, blob: BlobRef) -> AsyncGenerator[Any]:
            async def pieces() -> AsyncGenerator[bytes]:
                yield b"half"
                raise BlobMissing("the file is not as it was")

            generator = pieces()
            yield generator
            await generator.aclose()

    async with bot(server, blobs=Breaking(clock=SystemClock())) as channel:
        body = MediaPart(
            kind=MediaKind.VIDEO, blob=BlobRef(digest="0" * 64, size_bytes=300_000), file_name="x.mp4"
        )
        with anyio.fail_after(10), pytest.raises(BlobMissing):
            await channel.send(part(body))
        await channel.send(part("still here"))
    assert [each.text for each in server.sent(1)] == ["still here"]


async def test_an_upload_whose_answer_is_lost_may_have_arrived(server: TelegramServer) -> None:
    server.fault("sendVoice", drop="after")
    async with bench(server) as at:
        with pytest.raises(ChannelOutcomeUnknown):
            await at.channel.send(part(await at.file(kind=MediaKind.VOICE)))
    assert len(server.sent(1)) == 1


@pytest.mark.parametrize(
    ("status", "description"),
    [
        (403, "Forbidden: bot was blocked by the user"),
        (403, "Forbidden: bot was kicked from the supergroup chat"),
        (403, "Forbidden: user is deactivated"),
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: PEER_ID_INVALID"),
    ],
)
@pytest.mark.parametrize("method", ["sendMessage", "sendDocument", "setMessageReaction"])
async def test_a_chat_that_is_none_of_ours_is_gone(
    server: TelegramServer, method: str, status: int, description: str
) -> None:
    server.fault(method, status=status, description=description)
    async with bench(server) as at:
        bodies: dict[str, str | Part] = {
            "sendMessage": "words",
            "sendDocument": await at.file(),
            "setMessageReaction": ReactionPart(message=PlatformMessageId("1"), emoji="👍"),
        }
        with pytest.raises(ChannelTargetGone):
            await at.channel.send(part(bodies[method]))


@pytest.mark.parametrize(
    ("status", "description"),
    [
        (400, "Bad Request: message thread not found"),
        (400, "Bad Request: not enough rights to send documents to the chat"),
        (413, "Request Entity Too Large"),
    ],
)
async def test_a_refusal_of_one_file_says_nothing_of_its_chat(
    server: TelegramServer, status: int, description: str
) -> None:
    server.fault("sendDocument", status=status, description=description)
    async with bench(server) as at:
        with pytest.raises(ChannelRejected) as refused:
            await at.channel.send(part(await at.file()))
    assert not isinstance(refused.value, ChannelTargetGone)


async def test_a_reaction_of_ours_takes_the_place_of_the_one_before(server: TelegramServer) -> None:
    number = server.user_writes(OLGA, "thanks")
    async with bench(server) as at:
        reaction = ReactionPart(message=PlatformMessageId(str(number)), emoji="👍")
        for each in (reaction, replace(reaction, emoji="🫡")):
            assert (await at.channel.send(part(each))).platform_id is None
        with pytest.raises(ChannelRejected):
            await at.channel.send(part(replace(reaction, message=PlatformMessageId("999999"))))
    assert await server.reactions(1) == ["🫡"]


@pytest.mark.requirement("media.inbound_caps")
async def test_a_file_of_twenty_megabytes_is_fetched_and_a_larger_one_is_not(server: TelegramServer) -> None:
    at_cap, over = server.add_file(bytes(20 * MIB), "d/1"), server.add_file(bytes(20 * MIB + 1), "d/2")
    async with bench(server) as at:
        async with at.channel.media_source.fetch(at_cap, limit=100 * MIB) as pieces:
            assert sum([len(piece) async for piece in pieces]) == 20 * MIB
        with pytest.raises(MediaTooLarge):
            async with at.channel.media_source.fetch(over, limit=100 * MIB):
                pass


@pytest.mark.requirement("media.byte_caps_on_the_stream")
async def test_a_server_that_hides_a_files_size_gets_no_more_than_the_limit_through(
    server: TelegramServer,
) -> None:
    number = server.add_file(bytes(3 * MIB), "d/1")
    server.fault("getFile", body='{"ok":true,"result":{"file_id":"x","file_path":"d/1"}}')
    async with bench(server) as at:
        with pytest.raises(MediaTooLarge):
            await fetched(at.channel, number, MIB)


async def test_a_file_that_is_declared_too_large_is_not_asked_for(server: TelegramServer) -> None:
    number = server.add_file(bytes(100), "d/1")
    async with bench(server) as at:
        with pytest.raises(MediaTooLarge):
            async with at.channel.media_source.fetch(number, limit=99):
                pass


@pytest.mark.parametrize(
    "path",
    [
        "/var/lib/telegram/file",
        "../../../etc/passwd",
        "a/../b",
        "",
        None,
        7,
        "http://127.0.0.1:9/x",
        "d/none",
    ],
)
async def test_a_path_leads_to_no_other_place(server: TelegramServer, path: object) -> None:
    answer = {"ok": True, "result": {"file_id": "x", "file_path": path}}
    server.fault("getFile", body=json.dumps(answer))
    async with bench(server) as at:
        with pytest.raises(ChannelRejected):
            await fetched(at.channel, "x", 99)


@pytest.mark.parametrize("status", [500, 502, 429])
async def test_trouble_of_the_servers_own_leaves_a_file_for_later(
    server: TelegramServer, status: int
) -> None:
    server.fault("getFile", status=status)
    async with bench(server) as at:
        with pytest.raises((ChannelUnreachable, ChannelRateLimited)):
            async with at.channel.media_source.fetch("x", limit=99):
                pass


@pytest.mark.parametrize("status", [301, 302, 307])
async def test_a_download_is_led_nowhere_else(server: TelegramServer, status: int) -> None:
    number = server.add_file(b"here", "d/1")
    server.fault("download", status=status, body="<html>over there</html>")
    async with bench(server) as at:
        with pytest.raises(ChannelUnreachable):
            await fetched(at.channel, number, 99)
        assert await fetched(at.channel, number, 99) == b"here"


async def test_who_leaves_a_download_that_hangs_leaves_no_line_and_the_next_file_comes(
    server: TelegramServer,
) -> None:
    number = server.add_file(b"here", "d/1")
    server.fault("download", hang=math.inf)
    async with bench(server) as at:
        with anyio.move_on_after(10):
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(fetched, at.channel, number, 99)
                await server.until_hanging()
                waiting.cancel_scope.cancel()
        assert await fetched(at.channel, number, 99) == b"here"


async def fetched(channel: TelegramChannel, reference: str, limit: int) -> bytes:
    async with channel.media_source.fetch(reference, limit=limit) as pieces:
        return b"".join([piece async for piece in pieces])


async def test_the_token_of_the_files_address_is_in_no_log(
    server: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    number = server.add_file(b"here", "documents/file_1.bin")
    async with bench(server) as at:
        assert await fetched(at.channel, number, 99) == b"here"
        await at.channel.send(part(await at.file()))
    secret = server.token.partition(":")[2]
    assert not any(secret in repr(vars(record)) for record in caplog.records)

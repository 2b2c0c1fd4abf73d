"""Files that people send: two steps, caps on the stream, and a token that stays at home."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import anyio
import pytest

from fermix.application.ports.channel import (
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    MediaTooLarge,
)
from fermix.domain.caps import MIB
from fermix.infrastructure.channels.whatsapp.channel import WhatsAppChannel
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.whatsapp_api.server import WhatsAppServer, whatsapp_server
from tests.contract.channel.whatsapp_far_side import whatsapp

pytestmark = pytest.mark.anyio

PICTURE = b"\xff\xd8\xff\xe0" + b"p" * 100_000


@pytest.fixture
def server() -> Iterator[WhatsAppServer]:
    with whatsapp_server() as opened:
        yield opened


@pytest.fixture
async def channel(server: WhatsAppServer) -> AsyncIterator[WhatsAppChannel]:
    clock = StoppedClock()
    async with whatsapp(server, clock, MemoryBlobs(clock=clock)) as opened:
        yield opened


async def fetched(channel: WhatsAppChannel, media: str, *, limit: int = len(PICTURE)) -> bytes:
    with anyio.fail_after(10):
        async with channel.media_source.fetch(media, limit=limit) as pieces:
            return b"".join([piece async for piece in pieces])


async def test_a_file_exactly_at_the_limit_comes_whole(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    media = server.world.store(PICTURE, "image/jpeg")
    assert await fetched(channel, media) == PICTURE


@pytest.mark.requirement("media.inbound_caps")
async def test_a_file_of_twenty_five_megabytes_is_fetched_and_a_larger_one_is_not(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    at_cap, over = [server.world.store(bytes(25 * MIB + more), "video/mp4") for more in (0, 1)]
    assert len(await fetched(channel, at_cap, limit=100 * MIB)) == 25 * MIB
    with pytest.raises(MediaTooLarge):
        await fetched(channel, over, limit=100 * MIB)
    assert server.called(f"download/{over}") == 0


async def test_one_byte_more_is_refused_before_it_is_asked_for(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    media = server.world.store(PICTURE, "image/jpeg")
    with pytest.raises(MediaTooLarge):
        await fetched(channel, media, limit=len(PICTURE) - 1)
    assert server.called(f"download/{media}") == 0


async def test_a_file_that_is_longer_than_it_said_is_cut_off(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    liar, long = server.world.store(b"short", "image/jpeg"), server.world.store(PICTURE, "image/jpeg")
    server.world.files[liar].url = f"{server.root}/download/{long}"
    with pytest.raises(MediaTooLarge):
        await fetched(channel, liar, limit=1000)


async def test_an_address_that_has_run_out_is_asked_for_anew_once(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    media = server.world.store(PICTURE, "image/jpeg")
    server.fault("download", status=404, code=100)
    assert await fetched(channel, media) == PICTURE
    assert server.world.files[media].told == 2
    server.fault("download", status=404, code=100)
    server.fault("download", status=404, code=100)
    with pytest.raises(ChannelRejected):
        await fetched(channel, media)


@pytest.mark.parametrize(
    "url",
    [
        "http://lookaside.fbsbx.com/whatsapp/1",
        "https://lookaside.fbsbx.com:8443/whatsapp/1",
        "https://fbsbx.com.evil.test/1",
        "https://evilfbsbx.com/1",
        "https://user@evil.test/1",
        "https://lookaside.fbsbx.com@evil.test/1",
        "file:///etc/passwd",
        "http://169.254.169.254/latest",
        "https://[::1",
        "",
    ],
)
async def test_no_address_but_metas_is_followed(
    channel: WhatsAppChannel, server: WhatsAppServer, url: str
) -> None:
    media = server.world.store(PICTURE, "image/jpeg", url=url or "nowhere")
    with pytest.raises(ChannelRejected):
        await fetched(channel, media)


async def test_the_token_follows_no_redirect(channel: WhatsAppChannel, server: WhatsAppServer) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as foreign:
        foreign.setblocking(False)
        media = server.world.store(PICTURE, "image/jpeg")
        for where in ("download", "file"):
            server.fault(where, to=f"http://127.0.0.1:{foreign.getsockname()[1]}/")
            with pytest.raises((ChannelRejected, ChannelUnreachable)):
                await fetched(channel, media)
        with pytest.raises(BlockingIOError):
            foreign.accept()


async def test_a_web_page_is_no_picture(channel: WhatsAppChannel, server: WhatsAppServer) -> None:
    media = server.world.store(b"<html>log in", "image/png", served_as="text/html; charset=utf-8")
    with pytest.raises(ChannelRejected, match="web page"):
        await fetched(channel, media)


@pytest.mark.parametrize("reference", ["../me", "1/../../x", "https://evil.test/", "", "a b", "1?x=1"])
async def test_what_is_no_id_is_never_asked_for(
    channel: WhatsAppChannel, server: WhatsAppServer, reference: str
) -> None:
    with pytest.raises(ChannelRejected):
        await fetched(channel, reference)
    assert server.world.calls == []


async def test_failures_say_whether_it_is_worth_another_try(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    media = server.world.store(PICTURE, "image/jpeg")
    server.fault("file", status=429, code=130429, retry_after=3)
    with pytest.raises(ChannelRateLimited):
        await fetched(channel, media)
    for where in ("file", "download"):
        server.fault(where, drop="before")
        with pytest.raises(ChannelUnreachable):
            await fetched(channel, media)
        server.fault(where, status=500, code=131000)
        with pytest.raises(ChannelUnreachable):
            await fetched(channel, media)
    with pytest.raises(ChannelRejected):
        await fetched(channel, "123")
    server.revoke_token()
    with pytest.raises(ChannelUnreachable, match="access token"):
        await fetched(channel, media)


async def test_who_leaves_in_the_middle_leaves_no_line_and_the_next_file_comes(
    channel: WhatsAppChannel, server: WhatsAppServer
) -> None:
    media = server.world.store(PICTURE * 20, "image/jpeg")
    for _ in range(20):
        async with channel.media_source.fetch(media, limit=len(PICTURE) * 20) as pieces:
            async for _piece in pieces:
                break
    assert len(await fetched(channel, media, limit=len(PICTURE) * 20)) == len(PICTURE) * 20
    assert await server.until_connections(2, seconds=2) <= 2

"""Files that people send: two steps, caps on the stream, a token that stays at home, and no login page."""

import socket
from contextlib import closing

import anyio
import pytest

from fermix.application.ports.channel import (
    ChannelError,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
    MediaTooLarge,
)
from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName
from fermix.infrastructure.channels.slack.channel import SlackChannel
from fermix.testing.servers.slack_api.server import SlackServer

pytestmark = pytest.mark.anyio

PICTURE = b"\x89PNG\r\n\x1a\n" + b"p" * 100_000


async def fetched(channel: SlackChannel, file: str, *, limit: int = len(PICTURE)) -> bytes:
    with anyio.fail_after(10):
        async with channel.media_source.fetch(file, limit=limit) as pieces:
            return b"".join([piece async for piece in pieces])


async def test_a_file_is_fetched_by_its_id_with_our_token(channel: SlackChannel, server: SlackServer) -> None:
    file = server.file(PICTURE, "cat.png", "image/png")["id"]
    assert await fetched(channel, file) == PICTURE


async def test_a_file_that_says_it_is_too_large_is_not_asked_for(
    channel: SlackChannel, server: SlackServer
) -> None:
    file = server.file(PICTURE, "cat.png", "image/png", declared=len(PICTURE) + 1)["id"]
    with pytest.raises(MediaTooLarge):
        await fetched(channel, file)
    assert server.called("download") == 0


async def test_no_more_than_the_cap_is_asked_for_whatever_limit_is_given(
    channel: SlackChannel, server: SlackServer
) -> None:
    cap = CAPS[ChannelName("slack")].media_in or 0
    at_cap, over = [
        server.file(PICTURE, "cat.png", "image/png", declared=cap + more)["id"] for more in (0, 1)
    ]
    assert await fetched(channel, at_cap, limit=2 * cap) == PICTURE
    with pytest.raises(MediaTooLarge):
        await fetched(channel, over, limit=2 * cap)
    assert server.called("download") == 1


async def test_a_file_that_is_larger_than_it_says_is_stopped(
    channel: SlackChannel, server: SlackServer
) -> None:
    file = server.file(PICTURE, "cat.png", "image/png", declared=10)["id"]
    with pytest.raises(MediaTooLarge):
        await fetched(channel, file, limit=len(PICTURE) - 1)


@pytest.mark.parametrize("mime", ["image/png", "text/html"])
async def test_a_login_page_is_no_file(channel: SlackChannel, server: SlackServer, mime: str) -> None:
    """It is answered with success."""
    file = server.file(PICTURE, "cat.png", mime)["id"]
    server.fault("download", page=True)
    with pytest.raises(ChannelRejected, match="web page"):
        await fetched(channel, file)


async def test_a_page_that_somebody_sent_is_a_file(channel: SlackChannel, server: SlackServer) -> None:
    file = server.file(b"<html>mine</html>", "page.html", "text/html")["id"]
    assert await fetched(channel, file) == b"<html>mine</html>"


async def test_the_token_goes_along_from_one_host_of_slacks_to_another(
    channel: SlackChannel, server: SlackServer
) -> None:
    """Without it a login page would come."""
    file = server.file(PICTURE, "cat.png", "image/png")["id"]
    server.fault("download", to=f"http://{server.host}/files-tmb/{file}/cat.png")
    assert await fetched(channel, file) == PICTURE
    assert server.called("download") == 2


async def test_the_token_never_follows_to_a_foreign_host(channel: SlackChannel, server: SlackServer) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as stranger:
        stranger.settimeout(0.2)
        address = f"http://127.0.0.1:{stranger.getsockname()[1]}/cat.png"
        file = server.file(PICTURE, "cat.png", "image/png")["id"]
        server.fault("download", to=address)
        with pytest.raises(ChannelRejected):
            await fetched(channel, file)
        for url in (
            address,
            "https://evil.test/cat",
            "http://files.slack.com/cat",
            "file:///etc/passwd",
            "//[",
        ):
            file = server.file(PICTURE, "cat.png", "image/png", url=url)["id"]
            with pytest.raises(ChannelRejected):
                await fetched(channel, file)
        with pytest.raises(TimeoutError):
            stranger.accept()


async def test_a_chain_of_redirects_has_an_end(channel: SlackChannel, server: SlackServer) -> None:
    file = server.file(PICTURE, "cat.png", "image/png")["id"]
    for _ in range(10):
        server.fault("download", to=f"http://{server.host}/files-pri/{file}/cat.png")
    with pytest.raises(ChannelRejected):
        await fetched(channel, file)
    assert server.called("download") == 4


@pytest.mark.parametrize(
    ("where", "fault", "error"),
    [
        ("files.info", {"error": "file_not_found"}, ChannelRejected),
        ("files.info", {"error": "file_deleted"}, ChannelRejected),
        ("files.info", {"error": "missing_scope"}, ChannelRejected),
        ("files.info", {"error": "internal_error"}, ChannelUnreachable),
        ("files.info", {"status": 429, "error": "ratelimited", "retry_after": 2}, ChannelRateLimited),
        ("files.info", {"error": "invalid_auth"}, ChannelUnreachable),
        ("download", {"drop": "before"}, ChannelUnreachable),
        ("download", {"status": 404, "error": "gone"}, ChannelRejected),
        ("download", {"status": 500, "error": "trouble"}, ChannelUnreachable),
    ],
)
async def test_each_error_says_whether_it_may_be_had_later(
    channel: SlackChannel,
    server: SlackServer,
    where: str,
    fault: dict[str, object],
    error: type[ChannelError],
) -> None:
    file = server.file(PICTURE, "cat.png", "image/png")["id"]
    for _ in range(2):  # the library asks once more for a file whose line broke
        server.fault(where, **fault)
    with pytest.raises(ChannelError) as raised:
        await fetched(channel, file)
    assert type(raised.value) is error


async def test_what_slack_does_not_keep_is_refused(channel: SlackChannel, server: SlackServer) -> None:
    file = server.file(b"", "plan", "application/vnd.google-apps.document", external=True)["id"]
    with pytest.raises(ChannelRejected):
        await fetched(channel, file)

"""Attachments of Discord's: found by chat, message and number, read from Discord's own hosts and from no other."""

import socket
from collections.abc import Iterator
from contextlib import closing

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute

from fermix.application.ports.channel import ChannelRejected, MediaTooLarge
from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName
from fermix.infrastructure.channels.discord.channel import DiscordChannel
from fermix.infrastructure.channels.discord.errors import Refused
from fermix.infrastructure.channels.discord.rest import Requests
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.servers.discord_api.people_side import CHAT
from fermix.testing.servers.discord_api.server import DiscordServer, discord_server
from tests.integration.channels.discord.bot import Inbox, bot, online

pytestmark = pytest.mark.anyio

PICTURE = b"\x89PNG\r\n\x1a\n" + b"p" * 100_000


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[DiscordServer]:
    with discord_server() as opened:
        yield opened


async def fetched(channel: DiscordChannel, reference: str, *, limit: int = len(PICTURE)) -> bytes:
    with anyio.fail_after(10):
        async with channel.media_source.fetch(reference, limit=limit) as pieces:
            return b"".join([piece async for piece in pieces])


def at(address: str, *, size: int = 5) -> dict[str, object]:
    """A message whose file lies there, as somebody says."""
    file = {"id": "6", "filename": "a.png", "content_type": "image/png", "url": address, "size": size}
    return {"attachments": [file]}


@pytest.mark.requirement("media.references_per_platform")
async def test_a_file_is_told_by_chat_message_and_number_and_fetched_by_them(server: DiscordServer) -> None:
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        number = server.user_writes("look", files=[("a.png", PICTURE, "image/png")])
        await inbox.until_text("look")
        (file,) = inbox.messages[0]["attachments"]
        chat, message, attachment = str(file["reference"]).split("/")
        assert (chat, message, attachment.isdecimal()) == (CHAT, number, True)
        assert await fetched(channel, str(file["reference"])) == PICTURE


async def test_no_address_but_discords_is_asked(server: DiscordServer) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as inside:
        inside.setblocking(False)
        port = inside.getsockname()[1]
        async with bot(server) as channel:
            for address in (
                f"http://127.0.0.1:{port}/a.png",
                f"http://2130706433:{port}/",
                f"http://[::ffff:127.0.0.1]:{port}/",
                f"http://cdn.discordapp.com@127.0.0.1:{port}/",
                "http://169.254.169.254/latest",
                "file:///etc/hostname",
                "http://[",
                "",
            ):
                number = server.user_writes("look", raw=at(address))
                with pytest.raises(ChannelRejected):
                    await fetched(channel, f"{CHAT}/{number}/6")
        with pytest.raises(BlockingIOError):
            inside.accept()


@pytest.mark.parametrize(
    ("address", "is_theirs"),
    [
        ("https://cdn.discordapp.com/attachments/1/2/a.png", True),
        ("https://media.discordapp.net/attachments/1/2/a.png", True),
        ("http://cdn.discordapp.com/a.png", False),
        ("https://cdn.discordapp.com:8443/a.png", False),
        ("https://cdn.discordapp.com.evil.test/a.png", False),
        ("https://evilcdn.discordapp.com/a.png", False),
        ("https://cdn.discordapp.com@evil.test/a.png", False),
        ("https://127.0.0.1/a.png", False),
        ("https://[::1]/a.png", False),
        ("file:///etc/hostname", False),
        ("https://[", False),
    ],
)
async def test_files_lie_on_discords_own_hosts_only(address: str, is_theirs: bool) -> None:
    requests = Requests(token="t", root="https://discord.com/api/v10", clock=SystemClock())
    assert requests.holds_files(address) is is_theirs


async def test_nobody_is_followed_to_another_place() -> None:
    """Whoever may say where a file lies may say that it has moved into the house."""
    asked = list[bytes]()

    async def answer(line: ByteStream) -> None:
        async with line:
            asked.append((await line.receive()).partition(b"\r\n")[0])
            await line.send(b"HTTP/1.1 302 Found\r\nLocation: /inside\r\nContent-Length: 0\r\n\r\n")

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as hosts,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(hosts.serve, answer)
        root = f"http://127.0.0.1:{hosts.extra(SocketAttribute.local_port)}"  # noqa: S610  # no query of a database
        requests = Requests(token="t", root=f"{root}/api/v10", clock=SystemClock())
        with anyio.fail_after(10), pytest.raises(Refused):
            async with requests.file(f"{root}/a.png"):
                pass
        await requests.aclose()
        tasks.cancel_scope.cancel()
    assert asked == [b"GET /a.png HTTP/1.1"]


async def test_a_file_that_is_declared_larger_than_the_cap_is_not_asked_for(server: DiscordServer) -> None:
    cap = CAPS[ChannelName("discord")].media_in or 0
    async with bot(server) as channel:
        address = f"{server.api_base_url.removesuffix('/api/v10')}/attachments/{CHAT}/6/a.png"
        number = server.user_writes("look", raw=at(address, size=cap + 1))
        with pytest.raises(MediaTooLarge):
            await fetched(channel, f"{CHAT}/{number}/6", limit=cap * 2)

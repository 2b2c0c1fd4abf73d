"""After a start known chats are read from the cursor: what was missed, a hundred of each, none over a day old."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from fermix.application.ports.channel import ChannelUnreachable, Verdict
from fermix.infrastructure.channels.discord.cursor import Place, Places, read_places
from fermix.testing.clock import StoppedClock
from fermix.testing.servers.discord_api.people_side import CHAT
from fermix.testing.servers.discord_api.server import DiscordServer, discord_server
from fermix.testing.servers.discord_api.world import BOT, GENERAL, GUILD
from tests.contract.channel.platforms import HastyClock
from tests.integration.channels.discord.bot import Inbox, bot, end_of, online

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("channel.discord.catch_up")]
OTHER = "500000000000000043"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[DiscordServer]:
    with discord_server() as opened:
        yield opened


def at(*messages: str, chat: str = CHAT, guild: str | None = None) -> str:
    """The cursor of a home that has read a chat up to a message."""
    return Places(chats={chat: Place(message=int(messages[-1]), guild=guild)}).text


async def test_what_came_behind_the_cursor_is_read_in_order_and_nothing_before_it(
    server: DiscordServer,
) -> None:
    known = server.user_writes("known")
    for text in ("one", "two", "three"):
        server.user_writes(text)
    server.user_writes("elsewhere", chat=OTHER)
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox, cursor=at(known)):
        await inbox.until_text("three")
        server.user_writes("four")
        await inbox.until_text("four")
    assert inbox.texts == ["one", "two", "three", "four"]
    assert [call.body for call in server.called("GET messages")] == [{}]


async def test_without_a_cursor_nothing_is_read(server: DiscordServer) -> None:
    server.user_writes("long ago")
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        server.user_writes("now")
        await inbox.until_text("now")
    assert inbox.texts == ["now"]
    assert server.called("GET messages") == []


async def test_the_cursor_names_where_we_are_and_whose_the_chat_is(server: DiscordServer) -> None:
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        direct = server.user_writes("hello")
        await inbox.until_text("hello")
        ours = server.user_writes(f"<@{BOT}> hi", chat=GENERAL)
        await inbox.until_text("hi")
        places = read_places(inbox.cursors[-1]).chats
    assert places == {CHAT: Place(message=int(direct)), GENERAL: Place(message=int(ours), guild=GUILD)}


async def test_a_message_of_a_server_that_is_read_back_is_still_one(server: DiscordServer) -> None:
    heard, inbox = Inbox(), Inbox()
    async with bot(server) as channel, online(server, channel, heard):
        known = server.user_writes("known", chat=GENERAL)
        await heard.until_text("known")
    server.user_writes("among ourselves", chat=GENERAL)
    server.user_writes("missed", chat=GENERAL)
    server.forgets_sessions()
    cursor = at(known, chat=GENERAL, guild=GUILD)
    async with bot(server) as channel, online(server, channel, inbox, cursor=cursor):
        await inbox.until_text("missed")
    assert inbox.texts == ["among ourselves", "missed"]
    assert {message["chat_kind"] for message in inbox.messages} == {"channel"}
    assert {message["guild"] for message in inbox.messages} == {GUILD}


async def test_at_most_a_hundred_of_a_chat_are_read(server: DiscordServer) -> None:
    known = server.user_writes("known")
    for number in range(120):
        server.user_writes(f"m{number}")
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox, cursor=at(known)):
        await inbox.until_text("m99")
        server.user_writes("now")
        await inbox.until_text("now")
    assert inbox.texts == [*(f"m{number}" for number in range(100)), "now"]


async def test_what_is_older_than_a_day_is_left_alone() -> None:
    clock = StoppedClock(datetime(2026, 11, 1, tzinfo=UTC))
    with discord_server(now=lambda: clock.now().timestamp()) as server:
        known = server.user_writes("known")
        server.user_writes("too old")
        clock.advance(timedelta(hours=24, seconds=1))
        server.user_writes("recent")
        inbox = Inbox()
        async with bot(server, clock=clock) as channel, online(server, channel, inbox, cursor=at(known)):
            await inbox.until_text("recent")
    assert inbox.texts == ["recent"]


async def test_a_chat_that_is_gone_is_forgotten_and_the_others_are_read(server: DiscordServer) -> None:
    known = server.user_writes("known")
    server.user_writes("missed")
    server.closes_channel(OTHER)
    cursor = Places(chats={OTHER: Place(message=5), CHAT: Place(message=int(known))}).text
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox, cursor=cursor):
        await inbox.until_text("missed")
        server.user_writes("now")
        await inbox.until_text("now")
    assert OTHER not in read_places(inbox.cursors[-1]).chats


async def test_a_wait_that_discord_asks_for_is_kept() -> None:
    clock = HastyClock()
    with discord_server(now=lambda: clock.now().timestamp()) as server:
        known = server.user_writes("known")
        server.user_writes("missed")
        server.fault("GET messages", retry_after=7)
        began = clock.monotonic()
        inbox = Inbox()
        async with bot(server, clock=clock) as channel, online(server, channel, inbox, cursor=at(known)):
            await inbox.until_text("missed")
    assert clock.monotonic() - began >= 7


async def test_what_cannot_be_read_is_told_and_read_the_next_time(server: DiscordServer) -> None:
    known = server.user_writes("known")
    server.user_writes("missed")
    server.fault("GET messages", status=500)
    inbox = Inbox()
    async with bot(server) as channel:
        assert isinstance(await end_of(channel, inbox, cursor=at(known)), ChannelUnreachable)
        async with online(server, channel, inbox, cursor=at(known)):
            await inbox.until_text("missed")
    assert inbox.texts == ["missed"]


async def test_odd_messages_are_passed_over_and_counted(server: DiscordServer) -> None:
    known = server.user_writes("known")
    server.user_writes("odd", raw={"author": None})
    server.user_writes("good")
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox, cursor=at(known)):
        await inbox.until_text("good")
        await inbox.until_unread(1)
    assert inbox.texts == ["good"]


async def test_a_message_that_was_not_taken_is_no_part_of_the_next_cursor(server: DiscordServer) -> None:
    inbox = Inbox(Verdict.UNAVAILABLE)
    async with bot(server) as channel, online(server, channel, inbox):
        number = server.user_writes("hello")
        await inbox.until_text("hello", times=2)
    moved = [read_places(cursor).chats[CHAT].message for cursor in inbox.cursors if cursor]
    assert moved == [int(number)] * 2

"""The gateway connection: resuming, beginning anew, silence, and closes after which nobody may come back."""

from collections.abc import Iterator, Sequence
from functools import partial

import anyio
import pytest
from typing_extensions import override

from fermix.application.ports.admissions import CursorMove
from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable, Offered, Verdict
from fermix.infrastructure.channels.discord.gateway import SILENCE_SECONDS
from fermix.infrastructure.channels.discord.listening import CONNECT_SECONDS
from fermix.testing.servers.discord_api.people_side import person
from fermix.testing.servers.discord_api.server import DiscordServer, discord_server
from fermix.testing.servers.discord_api.world import GENERAL
from tests.integration.channels.discord.bot import SECONDS, Inbox, bot, end_of, online

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[DiscordServer]:
    with discord_server() as opened:
        yield opened


async def test_the_intents_are_the_four_that_are_needed(server: DiscordServer) -> None:
    async with bot(server) as channel, online(server, channel, Inbox()):
        (opened,) = server.opened(1)
    assert opened["intents"] == 37377


async def test_a_broken_connection_is_resumed_and_nothing_is_missed_or_doubled(server: DiscordServer) -> None:
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        server.user_writes("before")
        await inbox.until_text("before")
        server.cut()
        server.user_writes("meanwhile")
        await inbox.until_text("meanwhile")
        server.user_writes("after")
        await inbox.until_text("after")
        opened = await server.until(partial(server.opened, 2))
    assert inbox.texts == ["before", "meanwhile", "after"]
    assert opened[1]["op"] == 6
    assert opened[1]["session_id"] == "session0001"
    assert isinstance(opened[1]["seq"], int)


@pytest.mark.parametrize("frame", [{"op": 7, "d": None}, {"op": 9, "d": True}])
async def test_a_connection_that_discord_wants_anew_is_resumed(
    server: DiscordServer, frame: dict[str, object]
) -> None:
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        server.gateway_says(frame)
        opened = await server.until(partial(server.opened, 2))
        server.user_writes("after")
        await inbox.until_text("after")
        assert await server.until(partial(server.closed, 1)) == [4000]
    assert opened[1]["op"] == 6


async def test_a_session_that_discord_ended_begins_anew_and_what_was_missed_is_read_back(
    server: DiscordServer,
) -> None:
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        server.user_writes("before")
        await inbox.until_text("before")
        server.forgets_sessions()
        server.user_writes("missed")
        server.gateway_says({"op": 9, "d": False})
        opened = await server.until(partial(server.opened, 2))
        assert opened[1]["op"] == 2
        await inbox.until_text("missed")
    assert inbox.texts == ["before", "missed"]


def test_a_gateway_that_is_dead_is_told_within_a_minute() -> None:
    assert SILENCE_SECONDS + CONNECT_SECONDS <= 60


async def test_a_deaf_connection_is_given_up_and_resumed_once() -> None:
    inbox = Inbox()
    with discord_server(heartbeat_ms=100) as server:
        async with bot(server) as channel, online(server, channel, inbox):
            server.user_writes("before")
            await inbox.until_text("before")
            server.acknowledges(heartbeats=False)
            codes = await server.until(partial(server.closed, 1))
            server.acknowledges(heartbeats=True)
            opened = await server.until(partial(server.opened, 2))
            server.user_writes("after")
            await inbox.until_text("after")
            again = server.opened(2)
    assert codes[0] == 4000
    assert (opened[1]["op"], opened[1]["session_id"]) == (6, "session0001")
    assert [each["path"].rstrip("/") for each in again] == ["/gateway", "/gateway/resume"]
    assert isinstance(opened[1]["seq"], int)
    assert len(again) == 2
    assert inbox.texts == ["before", "after"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (4004, "bot token"),
        (4010, "4010"),
        (4011, "servers"),
        (4012, "4012"),
        (4013, "4013"),
        (4014, "Intent"),
    ],
)
async def test_a_fatal_close_is_told_once_and_nobody_comes_back(
    server: DiscordServer, code: int, words: str
) -> None:
    async with bot(server) as channel:
        async with anyio.create_task_group() as tasks:
            ended = list[Exception]()

            async def listens() -> None:
                ended.append(await end_of(channel))

            tasks.start_soon(listens)
            await server.until(server.online)
            server.gateway_says(code)
        (error,) = ended
        assert isinstance(error, ChannelRejected)
        assert words in str(error)
        with anyio.move_on_after(0.2) as waited:
            await channel.run(Inbox(), cursor=None)
        assert waited.cancelled_caught
    assert len(server.opened(1)) == 1


async def test_a_refused_token_is_told_in_words_for_its_owner(server: DiscordServer) -> None:
    async with bot(server) as channel:
        server.revoke_token()
        error = await end_of(channel)
    assert isinstance(error, ChannelRejected)
    assert "developer portal" in str(error)


async def test_a_gateway_that_never_greets_is_told(server: DiscordServer) -> None:
    async with bot(server) as channel:
        server.fault("GET bot", status=500)
        assert isinstance(await end_of(channel), ChannelUnreachable)


async def test_a_platform_that_went_away_is_told_and_heard_when_it_is_back(server: DiscordServer) -> None:
    inbox = Inbox()
    async with bot(server) as channel:
        async with anyio.create_task_group() as tasks:
            ended = list[Exception]()

            async def listens() -> None:
                ended.append(await end_of(channel, inbox))

            tasks.start_soon(listens)
            await server.until(server.online)
            server.user_writes("before")
            await inbox.until_text("before")
            server.goes_away()
        assert isinstance(ended[0], ChannelUnreachable)
        server.comes_back()
        server.user_writes("meanwhile")
        async with online(server, channel, inbox):
            await inbox.until_text("meanwhile")
    assert inbox.texts == ["before", "meanwhile"]
    assert [each["op"] for each in server.opened(2)] == [2, 6]


async def test_an_empty_list_says_that_discord_is_heard(server: DiscordServer) -> None:
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        with anyio.fail_after(SECONDS):
            while not inbox.lists:
                await anyio.lowlevel.checkpoint()
    assert inbox.messages == []


@pytest.mark.requirement("ingress.admit_chat.adapters_do_not_filter")
async def test_what_names_nobody_is_handed_on_and_costs_no_commit(server: DiscordServer) -> None:
    inbox = Inbox(Verdict.DROPPED)
    async with bot(server) as channel, online(server, channel, inbox):
        server.user_writes("among ourselves", chat=GENERAL)
        await inbox.until_text("among ourselves")
    assert inbox.messages[0]["chat_kind"] == "channel"
    assert all(cursor is None for cursor in inbox.cursors)


async def test_notices_and_our_own_words_are_silent(server: DiscordServer) -> None:
    inbox = Inbox()
    async with bot(server) as channel, online(server, channel, inbox):
        for kind in (18, 6, 7, 21):
            server.user_writes("Budget 2030", raw={"type": kind})
        server.user_writes("ours", user=person("900000000000000001", "fermix", bot=True))
        server.user_writes("hello")
        await inbox.until_text("hello")
    assert inbox.texts == ["hello"]
    assert inbox.unread == 0


class SlowInbox(Inbox):
    """Commits nothing before it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_commit = anyio.Event()

    @override
    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        verdicts = await super().accept(offered, cursor=cursor)
        if offered:
            await self.may_commit.wait()
        return verdicts


@pytest.mark.requirement("channel.listeners_only_admit")
async def test_what_comes_while_nothing_is_committed_is_queued_at_once_and_the_line_is_served(
    server: DiscordServer,
) -> None:
    inbox = SlowInbox()
    async with bot(server) as channel, online(server, channel, inbox):
        server.user_writes("first")
        await inbox.until_text("first")
        for text in ("second", "third", "fourth"):
            server.user_writes(text)
        server.gateway_says({"op": 7, "d": None})
        begun, resumed = await server.until(partial(server.opened, 2))
        assert (begun["op"], resumed["op"]) == (2, 6)
        assert inbox.texts == ["first"]
        inbox.may_commit.set()
        await inbox.until_text("fourth")
    assert inbox.texts == ["first", "second", "third", "fourth"]

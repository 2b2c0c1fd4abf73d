"""What leaves: once, under a nonce, with its files and reactions, as fast as Discord lets it."""

from collections.abc import Iterator

import pytest

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelTargetGone,
)
from fermix.domain.delivery import Choice, MediaKind, MediaPart, ReactionPart, TextPart
from fermix.domain.ids import PlatformMessageId
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs, in_pieces
from fermix.testing.servers.discord_api.people_side import CHAT
from fermix.testing.servers.discord_api.server import DiscordServer, discord_server
from fermix.testing.servers.discord_api.world import GENERAL
from tests.integration.channels.discord.bot import Inbox, bot, online, part

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.fixture
def server() -> Iterator[DiscordServer]:
    with discord_server() as opened:
        yield opened


async def test_no_message_pings_anybody_or_shows_previews_and_the_text_is_unchanged(
    server: DiscordServer,
) -> None:
    text = "ok @everyone <@&123456789012345678> https://example.org done"
    async with bot(server) as channel:
        await channel.send(part(text))
        draft = await channel.drafts.open(part("").target, text)
        await channel.drafts.edit(part("").target, draft, text + "!")
        shown = await server.until_sent(2)
    assert [one.text for one in shown] == [text, text + "!"]
    assert not any(one.pings or one.previews for one in shown)


async def test_no_caption_of_a_file_pings_anybody_either(server: DiscordServer) -> None:
    text = "ok @everyone <@&123456789012345678> done"
    blobs = MemoryBlobs(clock=SystemClock())
    picture = await blobs.store(in_pieces(b"picture"), limit=100)
    body = MediaPart(kind=MediaKind.IMAGE, blob=picture, file_name="a.png", caption=text)
    async with bot(server, blobs=blobs) as channel:
        await channel.send(part(body))
        (shown,) = server.sent(1)
    assert (shown.text, shown.pings, shown.files) == (text, False, (("a.png", b"picture"),))


@pytest.mark.requirement("channel.discord.enforced_nonce")
async def test_a_part_that_is_sent_again_is_one_message(server: DiscordServer) -> None:
    async with bot(server) as channel:
        server.fault("POST messages", drop="after")
        with pytest.raises(ChannelOutcomeUnknown):
            await channel.send(part("once", nonce="a very long nonce that discord would not take"))
        again = await channel.send(part("once", nonce="a very long nonce that discord would not take"))
        (shown,) = server.sent(1)
    assert again.platform_id == shown.id


async def test_an_answer_points_at_its_question_and_one_that_is_gone_is_no_error(
    server: DiscordServer,
) -> None:
    async with bot(server) as channel:
        asked = server.user_writes("?")
        await channel.send(part("!", reply_to=asked, nonce="1"))
        await channel.send(part("!", reply_to="123", nonce="2"))
        await channel.send(part("!", reply_to="interaction-5", nonce="3"))
    assert [one.reply_to for one in server.sent(3)] == [asked, None, None]


async def test_a_message_that_would_come_too_fast_is_kept_back_and_other_chats_go_on() -> None:
    clock = StoppedClock()
    with discord_server(now=lambda: clock.now().timestamp(), real_limits=True) as server:
        async with bot(server, clock=clock) as channel:
            for number in range(5):
                await channel.send(part(f"m{number}", nonce=f"{number}"))
            with pytest.raises(ChannelRateLimited) as failed:
                await channel.send(part("m5", nonce="5"))
            await channel.send(part("elsewhere", chat=GENERAL))
            clock.advance(failed.value.retry_after)
            await channel.send(part("m5", nonce="5"))
        assert {call.status for call in server.called("POST messages")} == {200}
    assert 0 < failed.value.retry_after.total_seconds() <= 5


async def test_a_server_error_is_asked_once(server: DiscordServer) -> None:
    async with bot(server) as channel:
        server.fault("POST messages", status=502, times=5)
        with pytest.raises(ChannelOutcomeUnknown):
            await channel.send(part("hello"))
    assert len(server.called("POST messages")) == 1


async def test_a_chat_that_is_gone_is_told_as_gone(server: DiscordServer) -> None:
    async with bot(server) as channel:
        server.closes_channel(CHAT)
        with pytest.raises(ChannelTargetGone):
            await channel.send(part("hello"))
        with pytest.raises(ChannelRejected):
            await channel.send(part("hello", chat="no number"))


async def test_a_draft_that_is_gone_cannot_be_changed_and_need_not_be_removed(server: DiscordServer) -> None:
    target = part("").target
    async with bot(server) as channel:
        draft = await channel.drafts.open(target, "so far")
        await channel.drafts.discard(target, draft)
        await channel.drafts.discard(target, draft)
        with pytest.raises(ChannelRejected):
            await channel.drafts.edit(target, draft, "more")
        with pytest.raises(ChannelRejected):
            await channel.drafts.edit(target, PlatformMessageId("none"), "more")


async def test_a_sealed_draft_is_the_reply(server: DiscordServer) -> None:
    target = part("").target
    async with bot(server) as channel:
        draft = await channel.drafts.open(target, "so far")
        sealed = await channel.drafts.seal(target, draft, TextPart(text="all of it"))
        (shown,) = server.sent(1)
    assert (shown.text, shown.id) == ("all of it", sealed.platform_id)


async def test_typing_is_shown(server: DiscordServer) -> None:
    async with bot(server) as channel:
        await channel.typing.show(part("").target)
    assert server.typing == [CHAT]


@pytest.mark.requirement("reaction.allowed_sets")
async def test_any_single_emoji_is_a_reaction_and_nothing_else(server: DiscordServer) -> None:
    async with bot(server) as channel, online(server, channel, Inbox()):
        message = PlatformMessageId(server.user_writes("thanks"))
        for emoji in ("👍", "🦩", "👩‍🚀"):
            await channel.send(part(ReactionPart(message=message, emoji=emoji)))
        with pytest.raises(ChannelRejected):
            await channel.send(part(ReactionPart(message=message, emoji="thumbsup")))
    assert server.reactions == [(CHAT, message, "👩‍🚀")]


async def test_buttons_stand_under_a_message_until_they_are_closed(server: DiscordServer) -> None:
    body = TextPart(text="May I?", choices=(Choice(label="Approve", token="ABCDEFGH"),))
    async with bot(server) as channel:
        await channel.send(part(body))
        assert server.sent(1)[0].buttons == ("confirm:ABCDEFGH",)
        for _ in range(2):
            await channel.buttons.close(part("").target, "ABCDEFGH")
        await channel.buttons.close(part("").target, "ZZZZZZZZ")
    assert server.sent(1)[0].buttons == ()

"""Groups that become supergroups: what Telegram itself tells of it counts; what people write does not."""

import pytest

from fermix.application.ports.channel import ChannelRejected, Verdict
from fermix.domain.ids import ChatId
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.integration.channels.telegram.bot import Inbox, bot, listening, part

pytestmark = pytest.mark.anyio

MOVE = (ChatId("-300"), ChatId("-100300"))


async def test_both_service_messages_tell_of_the_move_between_what_came_before_and_after() -> None:
    with telegram_server() as server:
        server.user_writes(-300, "before")
        server.upgrade(-300, -100300)
        server.user_writes(-100300, "after")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered(2)
            await server.until_polled()
            assert not server.pending
    assert inbox.taken == ["before", MOVE, MOVE, "after"]
    assert server.sent() == []


async def test_a_stranger_who_moves_a_group_tells_of_it_and_is_offered_with_nothing() -> None:
    with telegram_server() as server:
        server.user_writes(-300, raw={"migrate_to_chat_id": -100300}, user=9999)
        server.user_writes(1001, "hello")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["hello"]
    assert inbox.taken == [MOVE, "hello"]


@pytest.mark.parametrize(
    "forged",
    [
        {"text": "migrate_to_chat_id: -100300"},
        {"text": "words", "migrate_to_chat_id": -100300},
        {"caption": "words", "migrate_to_chat_id": -100300},
        {"migrate_to_chat_id": 4004},
        {"migrate_to_chat_id": -300},
        {"migrate_from_chat_id": -400},
        {
            "migrate_to_chat_id": -100300,
            "forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": "Eve"},
        },
        {
            "text": "look",
            "reply_to_message": {
                "message_id": 1,
                "date": 1,
                "chat": {"id": -300, "type": "group"},
                "migrate_to_chat_id": -100300,
            },
        },
    ],
)
async def test_what_people_can_write_moves_no_group(forged: dict[str, object]) -> None:
    with telegram_server() as server:
        server.user_writes(-300, raw=forged)
        server.user_writes(1001, "hello")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered_text("hello")
    assert inbox.moves == []


async def test_an_edit_and_a_private_chat_move_no_group() -> None:
    with telegram_server() as server:
        server.user_writes(-300, raw={"migrate_to_chat_id": -100300}, kind="edited_message")
        server.user_writes(1001, raw={"migrate_to_chat_id": -100300})
        server.user_writes(1001, "hello")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["hello"]
    assert inbox.moves == []


async def test_a_move_that_is_not_taken_is_told_again_and_nothing_overtakes_it() -> None:
    with telegram_server() as server:
        server.user_writes(-300, "before")
        server.upgrade(-300, -100300)
        server.user_writes(-100300, "after")
        inbox = Inbox(Verdict.ACCEPTED, Verdict.UNAVAILABLE)
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered(2)
    assert inbox.taken == ["before", MOVE, MOVE, MOVE, "after"]


async def test_a_send_that_was_refused_because_of_the_move_says_where_it_arrived() -> None:
    with telegram_server() as server:
        server.knows(-300)
        server.upgrade(-300, -100300)
        async with bot(server) as channel:
            first = await channel.send(part("first", chat=-300))
            second = await channel.send(part("second", chat=-300))
            there = await channel.send(part("there", chat=-100300))
    assert [first.moved_to, second.moved_to, there.moved_to] == ["-100300", "-100300", None]


async def test_what_fails_at_the_new_place_says_nothing_of_a_move_until_it_arrives() -> None:
    with telegram_server() as server:
        server.knows(-300)
        server.upgrade(-300, -100300)
        server.block(-100300)
        async with bot(server) as channel:
            with pytest.raises(ChannelRejected):
                await channel.send(part("first", chat=-300))
            server.block(-100300, blocked=False)
            assert (await channel.send(part("first", chat=-300))).moved_to == "-100300"


@pytest.mark.requirement("channel.telegram.one_odd_update")
async def test_an_update_that_cannot_be_read_is_counted_once_when_it_is_passed_over() -> None:
    with telegram_server() as server:
        server.user_writes(1001, "first")
        server.update({"message": {"message_id": "x"}})
        server.user_writes(1001, "last")
        inbox = Inbox(Verdict.UNAVAILABLE)
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered(4)
            await server.until_polled()
    assert inbox.unread == 1

"""What people do, as it comes over the wire of the real client: keys, places of mentions, names, and silence."""

from typing import Any

import pytest

from fermix.domain.ids import AccountId, ChannelName
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Registration, normalise
from fermix.testing.servers.telegram_api.server import telegram_server
from tests.integration.channels.telegram.bot import Inbox, bot, listening

pytestmark = pytest.mark.anyio

GROUP = -300
SUPERGROUP = -100300


def mention(offset: int, length: int) -> dict[str, Any]:
    return {"type": "mention", "offset": offset, "length": length}


async def test_a_mention_behind_emoji_is_ours_and_one_that_reaches_beyond_the_text_is_none() -> None:
    with telegram_server() as server:
        text = "😀😀 @fermix_test_bot hi"
        server.user_writes(GROUP, text, entities=[mention(5, 16)])
        server.user_writes(GROUP, "hi", entities=[mention(0, 100)])
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered(2)
    first, second = inbox.messages
    (ours,) = first["mentions"]
    assert (text[int(str(ours["start"])) : int(str(ours["end"]))], ours["is_us"]) == (
        "@fermix_test_bot",
        True,
    )
    assert (second["content"], second["mentions"]) == ("hi", [])


@pytest.mark.requirement("ingress.dedupe.platform_keys")
async def test_messages_of_one_number_in_two_chats_are_two_and_an_edit_is_no_new_one() -> None:
    with telegram_server() as server:
        numbers = {server.user_writes(chat, "hi") for chat in (SUPERGROUP, SUPERGROUP - 1)}
        (number,) = numbers
        server.user_writes(SUPERGROUP, "hi!", edit_of=number)
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            await inbox.until_offered(3)
    registration = Registration(channel=ChannelName("telegram"), account=AccountId("1"))
    found = [normalise(raw, registration) for raw in inbox.messages]
    assert [one.key for one in found if isinstance(one, InboundMessage)] == [
        f"{SUPERGROUP}:{number}",
        f"{SUPERGROUP - 1}:{number}",
        f"{SUPERGROUP}:{number}",
    ]
    assert [one.get("edited_at") is not None for one in inbox.messages] == [False, False, True]


async def test_an_edit_that_changes_what_stands_around_a_command_is_told_as_an_edit() -> None:
    post = {
        "message_id": 9,
        "date": 1,
        "edit_date": 2,
        "text": "/new",
        "chat": {"id": -100900, "type": "channel"},
    }
    with telegram_server() as server:
        asked = server.user_writes(1001, "/new")
        server.user_writes(1001, "/new", edit_of=asked)
        server.update({"edited_channel_post": post})
        server.user_writes(1001, "hello")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(3) == ["/new", "/new", "hello"]
            await server.until_polled()
            assert not server.pending
    assert inbox.messages[1].get("edited_at") is not None


@pytest.mark.parametrize(
    "service",
    [
        {"new_chat_members": [{"id": 7, "is_bot": False, "first_name": "Ann"}]},
        {"left_chat_member": {"id": 7, "is_bot": False, "first_name": "Ann"}},
        {"new_chat_title": "Budget"},
        {"pinned_message": {"message_id": 2, "date": 1, "chat": {"id": GROUP, "type": "group"}}},
        {"delete_chat_photo": True},
    ],
)
async def test_what_happens_to_a_group_is_silent(service: dict[str, Any]) -> None:
    with telegram_server() as server:
        server.user_writes(GROUP, raw=service)
        server.user_writes(GROUP, "hello")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["hello"]
            await server.until_polled()
            assert not server.pending
    assert (inbox.unread, inbox.moves) == (0, [])

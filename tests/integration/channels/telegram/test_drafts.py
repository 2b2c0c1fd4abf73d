"""Drafts as the chat shows them, and each refusal by what it means for the draft."""

from datetime import timedelta

import pytest

from fermix.application.ports.channel import (
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
)
from fermix.domain.delivery import TextPart
from fermix.domain.ids import PlatformMessageId
from fermix.infrastructure.channels.telegram.channel import TelegramChannel
from fermix.infrastructure.channels.telegram.pace import TELEGRAM
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.integration.channels.telegram.bot import bot, part

pytestmark = pytest.mark.anyio

HERE = part("").target


async def opened(server: TelegramServer, channel: TelegramChannel, text: str = "first") -> PlatformMessageId:
    server.knows(1001)
    return await channel.drafts.open(HERE, text)


async def test_a_draft_is_one_message_with_looks_that_becomes_the_reply() -> None:
    with telegram_server() as server:
        async with bot(server) as channel:
            draft = await opened(server, channel, "a **bold** start")
            await channel.drafts.edit(HERE, draft, "a **bold** start and `more`")
            delivered = await channel.drafts.seal(HERE, draft, TextPart(text="the **end**"))
        (shown,) = server.sent()
    assert draft == f"1001/{shown.message_id}"
    assert delivered.platform_id == str(shown.message_id)
    assert (shown.text, shown.edits, shown.previews) == ("the end", 2, False)
    assert [one["type"] for one in shown.entities] == ["bold"]


async def test_a_draft_opens_in_its_topic_and_points_at_its_question() -> None:
    with telegram_server() as server:
        asked = server.user_writes(-100700, "question", thread=77)
        async with bot(server) as channel:
            target = part("", chat=-100700, thread=77, reply_to=asked).target
            draft = await channel.drafts.open(target, "first")
            await channel.drafts.edit(target, draft, "second")
        (shown,) = server.sent()
    assert (shown.thread, shown.reply_to, shown.text) == (77, asked, "second")


async def test_an_edit_that_changes_nothing_is_success() -> None:
    with telegram_server() as server:
        async with bot(server) as channel:
            draft = await opened(server, channel)
            await channel.drafts.edit(HERE, draft, "first")
            await channel.drafts.seal(HERE, draft, TextPart(text="first"))
        assert [call.status for call in server.called("editMessageText")] == [400, 400]
        assert len(server.sent()) == 1


async def test_formatting_that_is_refused_goes_out_raw_once_in_edits_too() -> None:
    with telegram_server() as server:
        async with bot(server) as channel:
            draft = await opened(server, channel)
            server.fault("editMessageText", status=400, description="Bad Request: can't parse entities: x")
            await channel.drafts.edit(HERE, draft, "use **snake_case** and 2*3")
        (shown,) = server.sent()
    assert shown.text == "use **snake_case** and 2*3"


async def test_a_discarded_draft_is_gone_and_discarding_it_again_is_no_error() -> None:
    with telegram_server() as server:
        async with bot(server) as channel:
            draft = await opened(server, channel)
            await channel.drafts.discard(HERE, draft)
            await channel.drafts.discard(HERE, draft)
            with pytest.raises(ChannelRejected):
                await channel.drafts.edit(HERE, draft, "second")
        assert server.sent() == []


async def test_a_wait_that_telegram_asks_for_holds_drafts_of_this_chat_and_no_reply() -> None:
    with telegram_server() as server:
        server.knows(1002)
        async with bot(server) as channel:
            draft = await opened(server, channel)
            server.fault("editMessageText", retry_after=7)
            with pytest.raises(ChannelRateLimited) as caught:
                await channel.drafts.edit(HERE, draft, "second")
            assert caught.value.retry_after == timedelta(seconds=7)
            with pytest.raises(ChannelRateLimited):
                await channel.drafts.edit(HERE, draft, "second")
            await channel.drafts.open(part("", chat=1002).target, "another chat")
            await channel.send(part("a message"))
            await channel.drafts.seal(HERE, draft, TextPart(text="the end"))
        assert len(server.called("editMessageText")) == 2
        assert [one.text for one in server.sent(chat=1001)] == ["the end", "a message"]


async def test_drafts_in_a_group_leave_half_of_its_pace_to_messages() -> None:
    with telegram_server(real_limits=True) as server:
        server.knows(-100700)
        target = part("", chat=-100700).target
        async with bot(server, limits=TELEGRAM) as channel:
            draft = await channel.drafts.open(target, "0")
            for number in range(1, 10):
                await channel.drafts.edit(target, draft, f"{number}")
            with pytest.raises(ChannelRateLimited):
                await channel.drafts.edit(target, draft, "one too many")
            await channel.drafts.seal(target, draft, TextPart(text="the end"))
            for number in range(9):
                await channel.send(part(f"{number}", chat=-100700))
        assert all(call.status == 200 for call in server.calls if call.method != "getMe")


async def test_a_draft_of_a_group_that_moved_is_lost_and_no_other_message_is_touched() -> None:
    with telegram_server() as server:
        server.knows(-300)
        async with bot(server) as channel:
            draft = await channel.drafts.open(part("", chat=-300).target, "first")
            server.upgrade(-300, -100300)
            with pytest.raises(ChannelRejected):
                await channel.drafts.seal(part("", chat=-300).target, draft, TextPart(text="the end"))


@pytest.mark.parametrize("draft", ["", "7", "x/", "/7", "1001/seven", "1001/٧"])
async def test_what_is_no_draft_is_rejected_without_a_call(draft: str) -> None:
    with telegram_server() as server:
        async with bot(server) as channel:
            with pytest.raises(ChannelRejected):
                await channel.drafts.edit(HERE, PlatformMessageId(draft), "x")
            with pytest.raises(ChannelRejected):
                await channel.drafts.discard(HERE, PlatformMessageId(draft))
        assert server.calls == ()


async def test_a_lost_answer_is_an_unknown_outcome_and_a_closed_door_is_not() -> None:
    with telegram_server() as server:
        async with bot(server) as channel:
            draft = await opened(server, channel)
            server.fault("editMessageText", drop="after")
            with pytest.raises(ChannelOutcomeUnknown):
                await channel.drafts.edit(HERE, draft, "second")
            server.fault("deleteMessage", status=503)
            with pytest.raises(ChannelUnreachable):
                await channel.drafts.discard(HERE, draft)
            server.fault("sendMessage", body='{"ok":true,"result":{}}')
            with pytest.raises(ChannelOutcomeUnknown):
                await channel.drafts.open(HERE, "first")

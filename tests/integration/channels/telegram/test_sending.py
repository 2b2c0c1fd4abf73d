"""Parts as they arrive in the chat, and each refusal by what is to be done about it."""

import math
from datetime import timedelta

import anyio
import pytest

from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
)
from fermix.infrastructure.channels.telegram.pace import TELEGRAM
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.integration.channels.telegram.bot import Inbox, bot, listening, part

pytestmark = pytest.mark.anyio


async def error_of(server: TelegramServer, text: str = "a reply", *, chat: int = 1001) -> ChannelError:
    server.knows(chat)
    async with bot(server) as channel:
        with pytest.raises(ChannelError) as caught:
            await channel.send(part(text, chat=chat))
    return caught.value


async def test_a_reply_arrives_with_its_looks_and_without_previews() -> None:
    with telegram_server() as server:
        server.knows(1001)
        async with bot(server) as channel:
            delivered = await channel.send(part("**hi** https://a.example"))
        (shown,) = server.sent()
    assert delivered.platform_id == str(shown.message_id)
    assert shown.text == "hi https://a.example"
    assert [one["type"] for one in shown.entities if one["type"] != "url"] == ["bold"]
    assert not shown.previews


async def test_a_reply_stays_in_its_topic_and_in_a_group_points_at_its_message() -> None:
    with telegram_server() as server:
        asked = server.user_writes(-100700, "question", thread=77)
        async with bot(server) as channel:
            await channel.send(part("answer", chat=-100700, thread=77, reply_to=asked))
            await channel.send(part("to a message that is gone", chat=-100700, reply_to=99_999))
        first, second = server.sent()
    assert (first.thread, first.reply_to) == (77, asked)
    assert (second.thread, second.reply_to) == (None, None)


async def test_formatting_that_is_refused_goes_out_raw_once() -> None:
    with telegram_server() as server:
        server.knows(1001)
        server.fault(
            "sendMessage", status=400, description="Bad Request: can't parse entities: unexpected end"
        )
        async with bot(server) as channel:
            await channel.send(part("use **snake_case** and 2*3"))
        (shown,) = server.sent()
    assert shown.text == "use **snake_case** and 2*3"


async def test_an_answer_that_nothing_changed_is_success() -> None:
    with telegram_server() as server:
        server.fault("sendMessage", status=400, description="Bad Request: message is not modified: same")
        async with bot(server) as channel:
            assert (await channel.send(part("x"))).platform_id is None


async def test_a_group_that_moved_gets_its_message_once_at_the_new_place() -> None:
    with telegram_server() as server:
        server.knows(-300)
        server.upgrade(-300, -100300)
        async with bot(server) as channel:
            await channel.send(part("first", chat=-300))
            await channel.send(part("second", chat=-300))
        assert [(one.chat, one.text) for one in server.sent()] == [(-100300, "first"), (-100300, "second")]
        assert len([call for call in server.called("sendMessage") if call.status == 400]) == 1


async def test_a_move_that_was_told_beforehand_needs_no_refusal_and_draws_no_message() -> None:
    with telegram_server() as server:
        server.knows(-300)
        server.upgrade(-300, -100300)
        server.user_writes(-100300, "we moved")
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["we moved"]
            await channel.send(part("hello", chat=-300))
        assert [call.status for call in server.called("sendMessage")] == [200]


async def test_a_wait_that_the_server_asks_for_holds_this_chat_only() -> None:
    with telegram_server() as server:
        server.knows(1001)
        server.knows(1002)
        server.fault("sendMessage", retry_after=7, chat=1001)
        async with bot(server) as channel:
            with pytest.raises(ChannelRateLimited) as caught:
                await channel.send(part("too fast"))
            assert caught.value.retry_after == timedelta(seconds=7)
            with pytest.raises(ChannelRateLimited):
                await channel.send(part("again"))
            await channel.send(part("another chat", chat=1002))
        assert [call.chat for call in server.called("sendMessage")] == [1001, 1002]


async def test_our_own_pace_keeps_the_server_from_ever_refusing() -> None:
    with telegram_server(real_limits=True) as server:
        server.knows(1001)
        held = 0
        async with bot(server, limits=TELEGRAM) as channel:
            for number in range(5):
                try:
                    await channel.send(part(f"{number}"))
                except ChannelRateLimited:
                    held += 1
        assert held == 2
        assert {call.status for call in server.called("sendMessage")} == {200}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ChannelRejected),
        (403, ChannelRejected),
        (401, ChannelUnreachable),
        (500, ChannelOutcomeUnknown),
        (502, ChannelOutcomeUnknown),
        (503, ChannelUnreachable),
    ],
)
async def test_each_refusal_says_what_to_do(status: int, kind: type[ChannelError]) -> None:
    with telegram_server() as server:
        server.fault("sendMessage", status=status, description="no")
        assert type(await error_of(server)) is kind


async def test_a_person_who_blocked_the_bot_gets_nothing_more() -> None:
    with telegram_server() as server:
        server.knows(1001)
        server.block(1001)
        assert isinstance(await error_of(server), ChannelRejected)


async def test_nobody_there_means_it_did_not_leave() -> None:
    with telegram_server() as server:
        server.knows(1001)
    assert isinstance(await error_of(server), ChannelUnreachable)


@pytest.mark.parametrize("drop", ["before", "after", "half"])
async def test_a_line_that_breaks_after_it_left_leaves_the_outcome_unknown(drop: str) -> None:
    with telegram_server() as server:
        server.fault("sendMessage", drop=drop)  # type: ignore[arg-type]  # the three words of the fault
        assert isinstance(await error_of(server), ChannelOutcomeUnknown)


@pytest.mark.parametrize("body", ["<html>hello</html>", "[]", '{"ok":true}', ""])
async def test_an_answer_that_is_not_telegrams_leaves_the_outcome_unknown(body: str) -> None:
    with telegram_server() as server:
        server.fault("sendMessage", body=body)
        assert isinstance(await error_of(server), ChannelOutcomeUnknown)


async def test_an_answer_that_does_not_come_leaves_the_outcome_unknown() -> None:
    with telegram_server() as server:
        server.knows(1001)
        server.fault("sendMessage", hang=math.inf)
        async with bot(server, answer_seconds=0.3) as channel:
            with pytest.raises(ChannelOutcomeUnknown):
                await channel.send(part("x"))


async def test_a_send_that_is_cancelled_leaves_the_channel_usable() -> None:
    with telegram_server() as server:
        server.knows(1001)
        server.fault("sendMessage", hang=math.inf)
        async with bot(server) as channel:
            with anyio.move_on_after(0.2):
                await channel.send(part("never"))
            await channel.send(part("later"))
        assert [one.text for one in server.sent()] == ["later"]


async def test_typing_is_shown_in_the_topic_of_the_question() -> None:
    with telegram_server() as server:
        server.user_writes(-100700, "question", thread=77)
        async with bot(server) as channel:
            await channel.typing.show(part("", chat=-100700, thread=77).target)
        (action,) = server.called("sendChatAction")
    assert str(action.parameters["message_thread_id"]) == "77"
    assert action.parameters["action"] == "typing"


async def test_typing_that_cannot_be_shown_is_an_error_of_the_channel() -> None:
    with telegram_server() as server:
        server.knows(1001)
        server.block(1001)
        async with bot(server) as channel:
            with pytest.raises(ChannelRejected):
                await channel.typing.show(part("").target)

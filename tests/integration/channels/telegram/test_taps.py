"""Buttons under prompts, and the taps on them, over the real client."""

import json
import logging
from dataclasses import replace

import pytest

from fermix.application.ports.channel import OutgoingPart, Verdict
from fermix.domain import approval_wording
from fermix.domain.delivery import Choice, TextPart
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.integration.channels.telegram.bot import Inbox, bot, listening, part

pytestmark = pytest.mark.anyio

TOKEN = "ABCDEFGH"
GROUP = -100300


def prompt(*, chat: int = 1001, thread: int | None = None) -> OutgoingPart:
    body = TextPart(text="May I?", choices=(Choice(label="Approve", token=TOKEN),))
    return replace(part("", chat=chat, thread=thread), body=body)


async def answer_to_tap(server: TelegramServer) -> dict[str, object]:
    call = (await server.until_called("answerCallbackQuery"))[-1]
    assert call.status == 200, call.description
    return dict(call.parameters)


async def test_a_prompt_carries_its_button_and_a_plain_text_none() -> None:
    with telegram_server() as server:
        server.knows(1001)
        async with bot(server) as channel:
            asked = await channel.send(prompt())
            plain = await channel.send(part("hello"))
        labels = [server.buttons(1001, int(sent.platform_id or 0)) for sent in (asked, plain)]
    assert labels == [["Approve"], []]


async def test_a_tap_is_a_message_of_whoever_tapped_with_a_key_of_its_own() -> None:
    with telegram_server() as server:
        server.knows(GROUP, topics=[9])
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            sent = await channel.send(prompt(chat=GROUP, thread=9))
            number = int(sent.platform_id or 0)
            taps = [server.user_taps(GROUP, number, user=user) for user in (1001, 2002)]
            assert await inbox.until_offered(2) == [f"/confirm {TOKEN}"] * 2
            said = await answer_to_tap(server)
    first, second = inbox.messages
    assert [one["key"] for one in inbox.messages] == [f"tap:{tap}" for tap in taps]
    assert (first["sender_id"], second["sender_id"]) == (1001, 2002)
    assert (first["tap"], first["chat_id"], first["thread_ts"], first["id"]) == (True, GROUP, 9, number)
    assert first["chat_kind"] == "group"
    assert "text" not in said


async def test_whoever_is_refused_is_told_in_private_and_the_button_stays() -> None:
    with telegram_server() as server:
        server.knows(GROUP)
        inbox = Inbox(Verdict.DROPPED)
        async with bot(server) as channel, listening(channel, inbox):
            number = int((await channel.send(prompt(chat=GROUP))).platform_id or 0)
            server.user_taps(GROUP, number, user=2002)
            said = await answer_to_tap(server)
            assert server.buttons(GROUP, number) == ["Approve"]
    assert said["text"] == approval_wording.TAP_REFUSED
    assert said["show_alert"] in {True, "True", "true"}
    assert [one.text for one in server.sent()] == ["May I?"]


async def test_a_tap_that_was_not_taken_is_offered_again_and_answered_once() -> None:
    with telegram_server() as server:
        server.knows(1001)
        inbox = Inbox(Verdict.UNAVAILABLE, Verdict.ACCEPTED)
        async with bot(server) as channel, listening(channel, inbox):
            number = int((await channel.send(prompt())).platform_id or 0)
            server.user_taps(1001, number)
            await inbox.until_offered(2)
            await answer_to_tap(server)
            await server.until_polled()
        assert inbox.messages[0]["key"] == inbox.messages[1]["key"]
        assert len(server.called("answerCallbackQuery")) == 1


async def test_a_tap_that_is_answered_too_late_counts_once_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    late = "Bad Request: query is too old and response timeout expired or query ID is invalid"
    with telegram_server() as server:
        server.knows(1001)
        server.fault("answerCallbackQuery", status=400, description=late)
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            number = int((await channel.send(prompt())).platform_id or 0)
            server.user_taps(1001, number)
            (call,) = await server.until_called("answerCallbackQuery")
            server.user_writes(1001, "hello")
            assert await inbox.until_offered(2) == [f"/confirm {TOKEN}", "hello"]
            await server.until_polled()
            assert not server.pending
    assert call.status == 400
    assert "telegram.tap_not_answered" in caplog.text


async def test_what_a_button_carries_has_room_to_spare() -> None:
    with telegram_server() as server:
        server.knows(1001)
        async with bot(server) as channel:
            await channel.send(prompt())
        (call,) = server.called("sendMessage")
    markup = call.parameters["reply_markup"]
    rows = (json.loads(markup) if isinstance(markup, str) else markup)["inline_keyboard"]
    assert all(1 <= len(each["callback_data"].encode()) <= 64 for row in rows for each in row)


async def test_buttons_are_taken_away_once_also_by_a_process_that_only_saw_the_tap() -> None:
    with telegram_server() as server:
        server.knows(1001)
        async with bot(server) as channel:
            first, second = [int((await channel.send(prompt())).platform_id or 0) for _ in range(2)]
            await channel.buttons.close(prompt().target, TOKEN)
            await channel.buttons.close(prompt().target, TOKEN)
            assert (server.buttons(1001, first), server.buttons(1001, second)) == (["Approve"], [])
        inbox = Inbox()
        async with bot(server) as channel, listening(channel, inbox):
            server.user_taps(1001, first)
            await inbox.until_offered(1)
            await answer_to_tap(server)
            await channel.buttons.close(prompt().target, TOKEN)
        assert server.buttons(1001, first) == []
        assert [one.text for one in server.sent()] == ["May I?", "May I?"]


async def test_a_message_that_is_gone_has_no_buttons_left_to_take() -> None:
    with telegram_server() as server:
        server.knows(1001)
        async with bot(server) as channel:
            number = int((await channel.send(prompt())).platform_id or 0)
            server.deletes(1001, number)
            await channel.buttons.close(prompt().target, TOKEN)


@pytest.mark.parametrize("data", ["confirm:SHORT", "confirm:ABCDEFG1", "/stop", "grant:ABCDEFGH", None])
async def test_what_a_button_of_another_kind_says_is_nobodys_message(data: str | None) -> None:
    with telegram_server() as server:
        inbox = Inbox()
        query = {"id": "1", "from": {"id": 1001, "is_bot": False, "first_name": "A"}, "chat_instance": "x"}
        server.update({"callback_query": query if data is None else {**query, "data": data}})
        server.update({"callback_query": {**query, "data": f"confirm:{TOKEN}"}})
        server.user_writes(1001, "hello")
        async with bot(server) as channel, listening(channel, inbox):
            assert await inbox.until_offered(1) == ["hello"]
            await server.until_polled()
            assert not server.pending

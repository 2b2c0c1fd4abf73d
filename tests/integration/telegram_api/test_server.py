"""The fake Bot API server, asked by the real client library."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import Bot, BotCommand, LinkPreviewOptions, MessageEntity, ReplyParameters, Update
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.request import HTTPXRequest

from fermix.testing.servers.telegram_api.entities import formatted, units
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server

pytestmark = [
    pytest.mark.anyio,
    # The library warns of raw calls to methods it has a name for, and of the type `retry_after` will have.
    pytest.mark.filterwarnings("ignore::telegram.warnings.PTBUserWarning"),
]

OWNER = 1001
FORUM = -1001700


@pytest.fixture
def server() -> Generator[TelegramServer]:
    with telegram_server() as running:
        running.knows(OWNER)
        yield running


def client(server: TelegramServer, *, token: str | None = None) -> Bot:
    return Bot(
        token or server.token,
        base_url=f"{server.api_base_url}/bot",
        base_file_url=f"{server.api_base_url}/file/bot",
        request=HTTPXRequest(read_timeout=5),
        get_updates_request=HTTPXRequest(read_timeout=5),
    )


@pytest.fixture
async def bot(server: TelegramServer) -> AsyncGenerator[Bot]:
    async with client(server) as started:
        with anyio.fail_after(15):
            yield started


async def polled(bot: Bot, **parameters: Any) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = await bot.do_api_request("getUpdates", api_kwargs=parameters)
    return answer


async def test_the_bot_knows_itself(server: TelegramServer, bot: Bot) -> None:
    assert bot.username == "fermix_test_bot"
    assert bot.id == server.bot_id


async def test_a_wrong_token_is_unauthorized(server: TelegramServer) -> None:
    stranger = client(server, token="123456:wrong")

    with pytest.raises(InvalidToken):
        await stranger.initialize()

    await stranger.shutdown()


async def test_a_method_nobody_knows_is_not_found(bot: Bot) -> None:
    with pytest.raises(TelegramError, match="not found"):
        await bot.do_api_request("sendTelegram")


async def test_an_update_is_offered_until_a_higher_offset_is_asked_for(
    server: TelegramServer, bot: Bot
) -> None:
    first = server.user_writes(OWNER, "one")
    server.user_writes(OWNER, "two")

    batch = await polled(bot)
    again = await polled(bot)
    rest = await polled(bot, offset=batch[0]["update_id"] + 1)

    assert [update["message"]["text"] for update in batch] == ["one", "two"]
    assert again == batch
    assert batch[0]["message"]["message_id"] == first
    assert [update["message"]["text"] for update in rest] == ["two"]
    assert server.confirmed_offset == batch[0]["update_id"] + 1
    assert len(server.pending) == 1


async def test_updates_have_the_shapes_the_library_reads(server: TelegramServer, bot: Bot) -> None:
    asked = server.user_writes(FORUM, "😀 /new@fermix_test_bot for @fermix_test_bot", thread=77)
    server.user_writes(FORUM, "yes", thread=77, reply_to=asked)
    server.user_writes(FORUM, "/stop", thread=77, edit_of=asked)

    first, second, third = [Update.de_json(update, bot) for update in await polled(bot)]

    assert first.message is not None
    assert first.message.is_topic_message
    assert first.message.message_thread_id == 77
    assert first.message.chat.is_forum
    assert first.message.reply_to_message is not None
    assert first.message.reply_to_message.forum_topic_created is not None
    assert list(first.message.parse_entities().values()) == ["/new@fermix_test_bot", "@fermix_test_bot"]
    assert second.message is not None
    assert second.message.reply_to_message is not None
    assert second.message.reply_to_message.message_id == asked
    assert third.edited_message is not None
    assert third.edited_message.message_id == asked


async def test_a_poll_waits_for_the_first_message(server: TelegramServer, bot: Bot) -> None:
    batches: list[list[dict[str, Any]]] = []

    async def poll() -> None:
        batches.append(await polled(bot, timeout=5))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poll)
        await server.until_polled()
        server.user_writes(OWNER, "at last")

    assert [update["message"]["text"] for update in batches[0]] == ["at last"]
    assert not server.is_polled


async def test_a_poll_whose_client_left_is_forgotten(server: TelegramServer, bot: Bot) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: polled(bot, timeout=50))
        await server.until_polled()
        tasks.cancel_scope.cancel()

    (call,) = await server.until_called("getUpdates")
    assert call.status == 0
    assert not server.is_polled


async def test_a_newer_poll_ends_the_older_one(server: TelegramServer, bot: Bot) -> None:
    conflicts: list[str] = []

    async def first_poller() -> None:
        with pytest.raises(Conflict) as caught:
            await polled(bot, timeout=5)
        conflicts.append(caught.value.message)

    async with anyio.create_task_group() as tasks, client(server) as other:
        tasks.start_soon(first_poller)
        await server.until_polled()
        await polled(other)

    assert "terminated by other getUpdates request" in conflicts[0]


async def test_a_webhook_keeps_polls_out_until_it_is_deleted(server: TelegramServer, bot: Bot) -> None:
    server.user_writes(OWNER, "kept")
    server.webhook = "https://example.org/hook"

    with pytest.raises(Conflict, match="while webhook is active"):
        await polled(bot)
    await bot.delete_webhook(drop_pending_updates=False)

    assert len(await polled(bot)) == 1
    assert server.webhook == ""


async def test_kinds_that_are_not_wanted_do_not_come(server: TelegramServer, bot: Bot) -> None:
    await polled(bot, allowed_updates=["message"])
    asked = server.user_writes(OWNER, "hello")
    server.user_writes(OWNER, "hello!", edit_of=asked)

    assert [set(update) for update in await polled(bot)] == [{"update_id", "message"}]


async def test_odd_updates_come_as_they_are(server: TelegramServer, bot: Bot) -> None:
    server.update({"update_id": 70, "message": {"message_id": 1}})
    server.user_writes(OWNER, raw={"sticker": {"emoji": "👍"}, "from": None})

    odd, sticker = await polled(bot)

    assert odd == {"update_id": 70, "message": {"message_id": 1}}
    assert "text" not in sticker["message"]
    assert "from" not in sticker["message"]


async def test_the_chat_shows_what_was_sent_in_order(server: TelegramServer, bot: Bot) -> None:
    asked = server.user_writes(FORUM, "hello", thread=77)

    await bot.send_message(OWNER, "one", link_preview_options=LinkPreviewOptions(is_disabled=True))
    await bot.send_message(
        FORUM,
        "🙂 two",
        message_thread_id=77,
        entities=[MessageEntity("bold", 3, 3)],
        reply_parameters=ReplyParameters(asked),
    )
    one, two = server.sent(2)

    assert (one.chat, one.thread, one.text, one.previews) == (OWNER, None, "one", False)
    assert (two.chat, two.thread, two.text, two.reply_to) == (FORUM, 77, "🙂 two", asked)
    assert two.entities == ({"type": "bold", "offset": 3, "length": 3},)
    assert two.at >= one.at
    assert server.sent(chat=FORUM) == [two]


@pytest.mark.parametrize(("text", "is_taken"), [("🙂" * 2048, True), ("🙂" * 2048 + "x", False)])
async def test_the_length_is_counted_in_utf_16_units(bot: Bot, text: str, is_taken: bool) -> None:
    if is_taken:
        await bot.send_message(OWNER, text + " \n ")
    else:
        with pytest.raises(BadRequest, match="essage is too long"):
            await bot.send_message(OWNER, text)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"chat_id": OWNER}, "message text is empty"),
        ({"chat_id": OWNER, "text": ""}, "message text is empty"),
        ({"chat_id": OWNER, "text": " \n "}, "text must be non-empty"),
        ({"text": "x"}, "chat_id is empty"),
        ({"chat_id": 404, "text": "x"}, "chat not found"),
        ({"chat_id": "@nobody_here", "text": "x"}, "chat not found"),
        ({"chat_id": OWNER, "text": "x", "parse_mode": "Html5"}, "unsupported parse_mode"),
        ({"chat_id": OWNER, "text": "x", "message_thread_id": 9}, "message thread not found"),
        ({"chat_id": FORUM, "text": "x", "message_thread_id": 1}, "message thread not found"),
        (
            {"chat_id": FORUM, "text": "x", "message_thread_id": "a"},
            "invalid message thread identifier specified",
        ),
        (
            {"chat_id": OWNER, "text": "x", "reply_parameters": {"message_id": 99}},
            "message to be replied not found",
        ),
        (
            {"chat_id": OWNER, "text": "x", "reply_parameters": "{"},
            "can't parse reply parameters JSON object",
        ),
        (
            {"chat_id": OWNER, "text": "x", "link_preview_options": {"is_disabled": "yes"}},
            'can\'t parse link preview options: Field "is_disabled" must be of type Boolean',
        ),
        (
            {
                "chat_id": OWNER,
                "text": "x",
                "reply_markup": {"inline_keyboard": [[{"text": "y", "callback_data": "я" * 33}]]},
            },
            "BUTTON_DATA_INVALID",
        ),
        ({"chat_id": OWNER, "text": "\ud83d"}, "strings must be encoded in UTF-8"),
    ],
)
def test_a_wrong_message_is_refused_in_telegrams_words(
    server: TelegramServer, parameters: dict[str, Any], error: str
) -> None:
    server.knows(FORUM, topics=[77])

    answer = httpx.post(
        f"{server.api_base_url}/bot{server.token}/sendMessage",
        content=json.dumps(parameters),
        headers={"content-type": "application/json"},
    )

    assert answer.status_code == 400
    assert answer.json() == {"ok": False, "error_code": 400, "description": f"Bad Request: {error}"}
    assert server.sent() == []
    assert [(call.status, call.chat) for call in server.calls] == [
        (400, parameters.get("chat_id") if isinstance(parameters.get("chat_id"), int) else None)
    ]


def entity(kind: Any, offset: Any, length: Any, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **fields}


@pytest.mark.parametrize(
    ("entities", "error"),
    [
        ("bold", "can't parse entities JSON object"),
        ({"type": "bold"}, "can't parse entities: expected an Array"),
        ([entity("bold", 100, 1)], "entity begins after the end of the text at UTF-16 offset 100"),
        (
            [entity("bold", 0, 100)],
            "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 100",
        ),
        ([entity("bold", 1, 2)], "entity begins in a middle of a UTF-16 symbol at byte offset 0"),
        (
            [entity("bold", 0, 1)],
            "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 0",
        ),
        ([entity("loud", 0, 2)], "can't parse MessageEntity: Unsupported type specified"),
        ([entity("bold", "0", 2)], 'can\'t parse MessageEntity: Field "offset" must be of type Number'),
        ([{"type": "bold", "offset": 0}], "can't parse MessageEntity: Can't find field \"length\""),
        ([entity("text_link", 0, 2)], "can't parse MessageEntity: Can't find field \"url\""),
        (
            [entity("text_link", 0, 2, url="localhost")],
            "entity URL 'localhost' is invalid: Wrong HTTP URL",
        ),
        (
            [entity("text_link", 0, 2, url="ftp://example.org")],
            "entity URL 'ftp://example.org' is invalid: Unsupported URL protocol",
        ),
        (
            [entity("bold", 0, 4), entity("italic", 2, 4)],
            "can't parse entities: entities cross at UTF-16 offset 2",
        ),
        (
            [entity("bold", 0, 4), entity("code", 0, 4)],
            "can't parse entities: code can't be inside bold at UTF-16 offset 0",
        ),
        ([entity("bold", 0, 2)] * 101, "ENTITIES_TOO_LONG"),
    ],
)
def test_wrong_entities_are_refused(server: TelegramServer, entities: Any, error: str) -> None:
    answer = httpx.post(
        f"{server.api_base_url}/bot{server.token}/sendMessage",
        json={"chat_id": OWNER, "text": "🙂abcdefg", "entities": entities},
    )

    assert answer.json()["description"] == f"Bad Request: {error}"


async def test_text_is_cleaned_and_entities_follow(server: TelegramServer, bot: Bot) -> None:
    await bot.send_message(
        OWNER,
        "\n 🙂\r\n\tbold\x07 tail \n",
        entities=[MessageEntity("bold", 7, 4), MessageEntity("italic", 13, 6)],
    )
    (shown,) = server.sent()

    assert shown.text == "🙂\n bold  tail"
    assert shown.entities == (
        {"type": "bold", "offset": 4, "length": 4},
        {"type": "italic", "offset": 10, "length": 4},
    )


@given(
    before=st.text(alphabet="a🙂 \r\n\x07", max_size=6),
    marked=st.text(alphabet="a🙂 \r\n\x07", min_size=1, max_size=6),
    after=st.text(alphabet="a🙂 \r\n\x07", max_size=6),
)
def test_an_entity_marks_the_same_characters_after_cleaning(before: str, marked: str, after: str) -> None:
    text, entities = formatted(f"{before}{marked}{after}.", [entity("bold", units(before), units(marked))])

    clean = marked.replace("\r", "").replace("\x07", " ")
    assert len(entities) == (1 if clean else 0)
    for one in entities:
        raw = text.encode("utf-16-le")
        begin, end = one["offset"] * 2, (one["offset"] + one["length"]) * 2
        assert raw[begin:end].decode("utf-16-le") == clean


async def test_entities_may_nest_where_the_documentation_lets_them(server: TelegramServer, bot: Bot) -> None:
    await bot.send_message(
        OWNER,
        "a quote with code and a link",
        entities=[
            MessageEntity("blockquote", 0, 28),
            MessageEntity("code", 13, 4),
            MessageEntity("bold", 22, 6),
            MessageEntity("text_link", 24, 4, url="https://example.org"),
        ],
    )

    assert [one["type"] for one in server.sent()[0].entities] == ["blockquote", "code", "bold", "text_link"]


async def test_a_message_is_edited_in_its_place(server: TelegramServer, bot: Bot) -> None:
    asked = server.user_writes(OWNER, "hi")
    draft = await bot.send_message(OWNER, "dra")
    await bot.send_message(OWNER, "other")
    await bot.edit_message_text("draft", OWNER, draft.message_id)

    with pytest.raises(BadRequest, match="essage is not modified"):
        await bot.edit_message_text("draft ", OWNER, draft.message_id)
    with pytest.raises(BadRequest, match="essage can't be edited"):
        await bot.edit_message_text("mine", OWNER, asked)
    with pytest.raises(BadRequest, match="essage to edit not found"):
        await bot.edit_message_text("x", OWNER, 999)

    assert [(one.text, one.edits) for one in server.sent()] == [("draft", 1), ("other", 0)]


async def test_a_chat_action_knows_general_and_its_actions(server: TelegramServer, bot: Bot) -> None:
    server.user_writes(FORUM, "hello", thread=77)

    await bot.send_chat_action(FORUM, "typing", message_thread_id=77)
    await bot.send_chat_action(FORUM, "typing", message_thread_id=1)
    with pytest.raises(BadRequest, match="rong parameter action"):
        await bot.send_chat_action(FORUM, "thinking")
    with pytest.raises(BadRequest, match="essage thread not found"):
        await bot.send_chat_action(FORUM, "typing", message_thread_id=78)

    assert [call.status for call in server.called("sendChatAction")] == [200, 200, 400, 400]


async def test_the_command_menu_is_kept_or_refused_as_a_whole(server: TelegramServer, bot: Bot) -> None:
    await bot.set_my_commands([BotCommand("help", "What I can do")])
    with pytest.raises(BadRequest, match=r"(?i)bot_command_invalid"):
        await bot.do_api_request("setMyCommands", {"commands": [{"command": "a-b", "description": "dash"}]})

    assert server.commands == {"default": [{"command": "help", "description": "What I can do"}]}


async def test_chats_may_close_and_move(server: TelegramServer, bot: Bot) -> None:
    server.knows(-300)
    server.block(OWNER)
    server.upgrade(-300, -100300)

    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(OWNER, "hello?")
    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(-300, "hello")
    await bot.send_message(moved.value.new_chat_id, "hello")

    assert [one.chat for one in server.sent()] == [-100300]
    first, second = await polled(bot)
    assert first["message"]["migrate_to_chat_id"] == -100300
    assert second["message"]["migrate_from_chat_id"] == -300


async def test_a_file_is_found_and_fetched(server: TelegramServer, bot: Bot) -> None:
    number = server.add_file(b"some bytes", "documents/file_1.txt")

    found = await bot.get_file(number)

    assert bytes(await found.download_as_bytearray()) == b"some bytes"
    with pytest.raises(BadRequest, match="rong file_id"):
        await bot.get_file("FILE9")


async def test_under_real_limits_a_chat_is_slowed_down_and_others_are_not() -> None:
    with telegram_server(real_limits=True) as server:
        server.knows(OWNER)
        server.knows(2002)
        async with client(server) as bot:
            for number in range(3):
                await bot.send_message(OWNER, f"{number}")
            with pytest.raises(RetryAfter, match="etry in"):
                await bot.send_message(OWNER, "too soon")
            await bot.send_message(2002, "in time")

    assert [one.text for one in server.sent()] == ["0", "1", "2", "in time"]


async def test_a_fault_meets_as_many_calls_as_it_says(server: TelegramServer, bot: Bot) -> None:
    server.fault("sendMessage", retry_after=7)
    server.fault("sendMessage", status=400, description="Bad Request: can't parse entities: x", times=2)
    server.fault("sendMessage", status=502, body="<html>Bad Gateway</html>", chat=OWNER)
    errors: list[TelegramError] = []

    for number in range(4):
        try:
            await bot.send_message(OWNER, f"{number}")
        except TelegramError as error:
            errors.append(error)
    await bot.send_message(OWNER, "through")

    assert [type(error) for error in errors] == [RetryAfter, BadRequest, BadRequest, NetworkError]
    assert [one.text for one in server.sent()] == ["through"]


@pytest.mark.parametrize(("drop", "arrived"), [("before", 0), ("after", 1), ("half", 1)])
async def test_a_dropped_connection_has_done_its_work_or_not(
    server: TelegramServer, bot: Bot, drop: Any, arrived: int
) -> None:
    server.fault("sendMessage", drop=drop)

    with pytest.raises(NetworkError):
        await bot.send_message(OWNER, "hello")

    assert len(server.sent()) == arrived
    assert [call.status for call in server.called("sendMessage")] == [0]


async def test_a_call_that_hangs_does_nothing(server: TelegramServer, bot: Bot) -> None:
    server.fault("sendMessage", hang=float("inf"))

    with pytest.raises(TimedOut):
        await bot.send_message(OWNER, "hello", read_timeout=0.05)
    await server.until_called("sendMessage")

    assert server.sent() == []


async def test_the_line_can_be_cut_and_mended(server: TelegramServer, bot: Bot) -> None:
    with server.offline(), pytest.raises(NetworkError):
        await bot.send_message(OWNER, "lost")

    await bot.send_message(OWNER, "there")

    assert [one.text for one in server.sent()] == ["there"]


@pytest.mark.parametrize("way", ["query", "form", "multipart", "json"])
def test_parameters_may_come_in_four_ways(server: TelegramServer, way: str) -> None:
    address = f"{server.api_base_url}/bot{server.token}/SENDMESSAGE"
    entities = json.dumps([entity("bold", 0, 2)])
    values = {"chat_id": str(OWNER), "text": "grüß dich", "entities": entities}
    with httpx.Client() as http:
        match way:
            case "query":
                answer = http.get(address, params=values)
            case "form":
                answer = http.post(address, data=values)
            case "multipart":
                answer = http.post(address, files={name: (None, value) for name, value in values.items()})
            case _:
                answer = http.post(address, json=values)

    assert answer.json()["ok"] is True
    assert server.sent()[0].text == "grüß dich"
    assert server.sent()[0].entities == (entity("bold", 0, 2),)
    assert server.token not in repr(server.calls)


def test_the_server_runs_as_a_process_and_is_played_over_http() -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "fermix.testing.servers.telegram_api"]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        root_address = told["api_base_url"]

        wrote = _post(f"{root_address}/_play/writes", {"chat": OWNER, "text": "hello"})
        updates = _post(f"{root_address}/bot{told['token']}/getUpdates", {})
        _post(f"{root_address}/bot{told['token']}/sendMessage", {"chat_id": OWNER, "text": "hi"})
        shown = _post(f"{root_address}/_play/sent?wait_for=1", None)
        process.communicate(timeout=5)

    assert updates["result"][0]["message"]["message_id"] == wrote["result"]
    assert [one["text"] for one in shown["result"]] == ["hi"]
    assert process.returncode == 0


def _post(address: str, values: dict[str, Any] | None) -> Any:
    body = None if values is None else json.dumps(values).encode()
    request = urllib.request.Request(address, body, {"content-type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
        return json.load(answer)

"""The fake Bot API refuses what Telegram refuses, in its words; asked by the plainest client."""

from collections.abc import Iterator
from typing import Any

import pytest

from fermix.testing.servers.telegram_api.files import MAX_CAPTION, MIB
from fermix.testing.servers.telegram_api.methods import MAX_CALLBACK_BYTES, MAX_DOWNLOAD, MAX_TAP_ANSWER
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.integration.servers.plain import Answer, ask, form

OLGA = 1001
FORUM = -1001700


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with telegram_server() as opened:
        opened.knows(OLGA)
        opened.knows(FORUM, topics=(77,))
        yield opened


def call(server: TelegramServer, method: str, *, token: str | None = None, **given: Any) -> Answer:
    return ask(f"{server.api_base_url}/bot{token or server.token}/{method}", json_body=given)


def said(answer: Answer) -> tuple[int, str]:
    assert answer.json["ok"] is False
    assert answer.json["error_code"] == answer.status
    return answer.status, answer.json["description"]


def upload(server: TelegramServer, method: str, field: str, content: bytes, **values: str) -> Answer:
    body, headers = form(
        {"chat_id": str(OLGA), **values}, (field, "file.bin", "application/octet-stream", content)
    )
    return ask(f"{server.api_base_url}/bot{server.token}/{method}", data=body, headers=headers)


@pytest.mark.parametrize("text", ["x" * 4096, "🎉" * 2048])
def test_the_longest_text_is_shown_and_no_longer_one(server: TelegramServer, text: str) -> None:
    assert call(server, "sendMessage", chat_id=OLGA, text=text).status == 200
    refused = call(server, "sendMessage", chat_id=OLGA, text=f"{text}x")
    assert said(refused) == (400, "Bad Request: message is too long")
    assert [shown.text for shown in server.sent(1)] == [text]


@pytest.mark.parametrize(
    ("method", "given", "refusal"),
    [
        ("sendTelegram", {}, (404, "Not Found: method not found")),
        ("sendMessage", {"chat_id": OLGA}, (400, "Bad Request: message text is empty")),
        ("sendMessage", {"chat_id": OLGA, "text": " \n"}, (400, "Bad Request: text must be non-empty")),
        ("sendMessage", {"chat_id": 5, "text": "x"}, (400, "Bad Request: chat not found")),
        (
            "sendMessage",
            {"chat_id": FORUM, "text": "x", "message_thread_id": 78},
            (400, "Bad Request: message thread not found"),
        ),
        (
            "sendMessage",
            {"chat_id": OLGA, "text": "x", "parse_mode": "HTML"},
            (400, "Bad Request: unsupported parse_mode"),
        ),
        (
            "sendMessage",
            {"chat_id": OLGA, "text": "x", "reply_parameters": {"message_id": 9}},
            (400, "Bad Request: message to be replied not found"),
        ),
        (
            "editMessageText",
            {"chat_id": OLGA, "message_id": 9, "text": "x"},
            (400, "Bad Request: message to edit not found"),
        ),
        (
            "setMessageReaction",
            {"chat_id": OLGA, "message_id": 9, "reaction": []},
            (400, "Bad Request: message to react not found"),
        ),
        ("sendPhoto", {"chat_id": OLGA}, (400, "Bad Request: there is no photo in the request")),
        (
            "getFile",
            {"file_id": "none"},
            (400, "Bad Request: wrong file_id or the file is temporarily unavailable"),
        ),
        (
            "sendChatAction",
            {"chat_id": OLGA, "action": "sing"},
            (400, "Bad Request: wrong parameter action in request"),
        ),
    ],
)
def test_what_is_wrong_is_refused_in_telegrams_words(
    server: TelegramServer, method: str, given: dict[str, Any], refusal: tuple[int, str]
) -> None:
    assert said(call(server, method, **given)) == refusal
    assert server.sent() == []


@pytest.mark.parametrize(("token", "status"), [("123456:another", 401), ("nonsense", 404)])
def test_a_bad_token_is_let_in_nowhere(server: TelegramServer, token: str, status: int) -> None:
    assert call(server, "getMe", token=token).status == status
    file = server.add_file(b"data", "documents/a")
    path = call(server, "getFile", file_id=file).json["result"]["file_path"]
    assert ask(f"{server.api_base_url}/file/bot{server.token}/{path}").body == b"data"
    assert ask(f"{server.api_base_url}/file/bot{token}/{path}").status == 404


@pytest.mark.parametrize(
    ("method", "field", "cap"),
    [
        ("sendPhoto", "photo", 10 * MIB),
        ("sendDocument", "document", 50 * MIB),
        ("sendVoice", "voice", 50 * MIB),
    ],
)
def test_the_largest_file_is_taken_and_no_larger_one(
    server: TelegramServer, method: str, field: str, cap: int
) -> None:
    assert upload(server, method, field, bytes(cap)).status == 200
    assert said(upload(server, method, field, bytes(cap + 1))) == (413, "Request Entity Too Large")
    assert said(upload(server, method, field, b"")) == (400, "Bad Request: file must be non-empty")


def test_what_cannot_be_a_request_is_not_even_read(server: TelegramServer) -> None:
    where = f"{server.api_base_url}/bot{server.token}/sendDocument"
    refused = ask(where, method="POST", headers={"Content-Length": str(52 * MIB)})
    assert said(refused) == (413, "Request Entity Too Large")


def test_the_longest_caption_is_taken_and_no_longer_one(server: TelegramServer) -> None:
    assert upload(server, "sendDocument", "document", b"x", caption="c" * MAX_CAPTION).status == 200
    refused = upload(server, "sendDocument", "document", b"x", caption="c" * (MAX_CAPTION + 1))
    assert said(refused) == (400, "Bad Request: message caption is too long")


def test_a_file_that_is_too_large_to_fetch_is_refused(server: TelegramServer) -> None:
    fits, larger = (server.add_file(bytes(MAX_DOWNLOAD + more), f"documents/{more}") for more in (0, 1))
    assert call(server, "getFile", file_id=fits).status == 200
    assert said(call(server, "getFile", file_id=larger)) == (400, "Bad Request: file is too big")


def test_reactions_come_from_the_allowed_set_and_one_at_a_time(server: TelegramServer) -> None:
    number = server.user_writes(OLGA, "hello")

    def react(*emoji: str) -> Answer:
        reaction = [{"type": "emoji", "emoji": each} for each in emoji]
        return call(server, "setMessageReaction", chat_id=OLGA, message_id=number, reaction=reaction)

    assert react("👍").status == 200
    assert said(react("🧨")) == (400, "Bad Request: REACTION_INVALID")
    assert said(react("👍", "🔥")) == (400, "Bad Request: REACTIONS_TOO_MANY")


def test_a_button_and_the_answer_to_its_tap_have_their_sizes(server: TelegramServer) -> None:
    def with_button(data: str) -> Answer:
        keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": data}]]}
        return call(server, "sendMessage", chat_id=OLGA, text="Shall I?", reply_markup=keyboard)

    sent = with_button("d" * MAX_CALLBACK_BYTES).json["result"]["message_id"]
    assert said(with_button("d" * (MAX_CALLBACK_BYTES + 1))) == (400, "Bad Request: BUTTON_DATA_INVALID")
    tap = server.user_taps(OLGA, sent)
    long = call(server, "answerCallbackQuery", callback_query_id=tap, text="t" * (MAX_TAP_ANSWER + 1))
    assert said(long) == (400, "Bad Request: MESSAGE_TOO_LONG")
    assert call(server, "answerCallbackQuery", callback_query_id=tap).status == 200
    twice = said(call(server, "answerCallbackQuery", callback_query_id=tap))
    assert twice == (400, "Bad Request: query is too old and response timeout expired or query ID is invalid")


def test_an_entity_that_splits_a_character_is_refused(server: TelegramServer) -> None:
    bold = {"type": "bold", "offset": 1, "length": 1}
    status, words = said(call(server, "sendMessage", chat_id=OLGA, text="🎉🎉", entities=[bold]))
    assert status == 400
    assert "middle of a UTF-16 symbol" in words


def test_who_blocked_the_bot_and_where_a_group_moved_is_told(server: TelegramServer) -> None:
    server.knows(-5)
    server.block(OLGA)
    server.upgrade(-5, -1005)
    assert said(call(server, "sendMessage", chat_id=OLGA, text="x"))[0] == 403
    moved = call(server, "sendMessage", chat_id=-5, text="x")
    assert (moved.status, moved.json["parameters"]) == (400, {"migrate_to_chat_id": -1005})


def test_polls_are_refused_while_a_webhook_is_set(server: TelegramServer) -> None:
    assert call(server, "setWebhook", url="https://example.org").status == 200
    assert said(call(server, "getUpdates"))[0] == 409
    assert call(server, "deleteWebhook").status == 200
    assert call(server, "getUpdates").json["result"] == []


def test_messages_that_come_too_fast_are_told_when_to_come_again() -> None:
    with telegram_server(real_limits=True) as server:
        server.knows(OLGA)
        answers = [call(server, "sendMessage", chat_id=OLGA, text=str(number)) for number in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert 1 <= answers[3].json["parameters"]["retry_after"] <= 3


def test_a_connection_that_is_cut_in_the_middle_leaves_half_an_answer(server: TelegramServer) -> None:
    server.fault("getMe", drop="half")
    with pytest.raises(Exception, match="IncompleteRead"):
        call(server, "getMe")
    assert call(server, "getMe").status == 200

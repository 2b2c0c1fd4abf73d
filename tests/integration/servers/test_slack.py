"""The fake Slack refuses what Slack refuses, with its codes; asked by the plainest client, and by aiohttp."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlencode

import aiohttp
import anyio
import pytest

from fermix.testing.servers.slack_api.endpoint import LOGIN_PAGE
from fermix.testing.servers.slack_api.methods import CALLS_SOMEBODY, MAX_TEXT
from fermix.testing.servers.slack_api.server import APP_TOKEN, TOKEN, SlackServer, slack_server
from tests.integration.servers.plain import SECONDS, Answer, ask

pytestmark = pytest.mark.anyio

AUTHORISED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def server() -> Iterator[SlackServer]:
    with slack_server() as opened:
        yield opened


@pytest.fixture
async def line(server: SlackServer) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    where = call(server, "apps.connections.open", token=APP_TOKEN)["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(where) as opened:
        with anyio.fail_after(SECONDS):
            yield opened


def call(server: SlackServer, method: str, *, token: str = TOKEN, **given: Any) -> dict[str, Any]:
    answer = ask(f"{server.root}/{method}", json_body=given, headers={"Authorization": f"Bearer {token}"})
    assert answer.status == 200
    told: dict[str, Any] = answer.json
    return told


def by_form(server: SlackServer, method: str, **given: str | int) -> dict[str, Any]:
    kind = "application/x-www-form-urlencoded"
    where, headers = f"{server.root}/{method}", {**AUTHORISED, "Content-Type": kind}
    told: dict[str, Any] = ask(where, data=urlencode(given).encode(), headers=headers).json
    return told


def test_the_longest_text_is_shown_and_no_longer_one(server: SlackServer) -> None:
    assert call(server, "chat.postMessage", channel="C0A", text="x" * MAX_TEXT)["ok"]
    refused = call(server, "chat.postMessage", channel="C0A", text="x" * (MAX_TEXT + 1))
    assert refused["error"] == "msg_too_long"
    assert len(server.sent(1)) == 1


@pytest.mark.parametrize(
    ("method", "given", "error"),
    [
        ("chat.postLetter", {}, "unknown_method"),
        ("chat.postMessage", {"channel": "C0A"}, "no_text"),
        ("chat.postMessage", {"channel": "elsewhere", "text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": "C0ARCHIVED", "text": "x"}, "is_archived"),
        ("chat.postMessage", {"channel": "C0A", "text": "x", "thread_ts": "yesterday"}, "invalid_thread_ts"),
        ("chat.postMessage", {"channel": "C0A", "text": "<!channel> hello"}, CALLS_SOMEBODY),
        ("chat.postMessage", {"channel": "C0A", "text": "<@U0BEN> hello"}, CALLS_SOMEBODY),
        ("chat.update", {"channel": "C0A", "ts": "1790000000.000001", "text": "x"}, "message_not_found"),
        ("chat.delete", {"channel": "C0A", "ts": "1790000000.000001"}, "message_not_found"),
        ("reactions.add", {"channel": "C0A", "timestamp": "1.1", "name": "thumbsup"}, "message_not_found"),
        ("reactions.add", {"channel": "C0A", "timestamp": "1.1", "name": "👍"}, "invalid_name"),
        ("files.info", {"file": "F1"}, "invalid_arguments"),
    ],
)
def test_what_is_wrong_is_refused_with_slacks_code(
    server: SlackServer, method: str, given: dict[str, Any], error: str
) -> None:
    assert call(server, method, **given) | {"needed": ""} == {"ok": False, "error": error, "needed": ""}
    assert server.shown() == []


@pytest.mark.parametrize("token", ["xoxb-another", APP_TOKEN])
def test_a_bad_token_is_let_in_nowhere(server: SlackServer, token: str) -> None:
    assert call(server, "auth.test", token=token)["error"] == "invalid_auth"
    file = server.file(b"secret", "a.txt", "text/plain")
    shown = ask(file["url_private"], headers={"Authorization": f"Bearer {token}"})
    assert (shown.status, shown.body) == (200, LOGIN_PAGE)
    assert ask(file["url_private"], headers=AUTHORISED).body == b"secret"


def test_a_reaction_is_put_once_and_taken_off_once(server: SlackServer) -> None:
    event = server.event("hello", channel="C0A")
    place = {"channel": "C0A", "timestamp": event["ts"], "name": "eyes"}
    told = [call(server, f"reactions.{verb}", **place) for verb in ("add", "add", "remove", "remove")]
    assert [each.get("error") for each in told] == [None, "already_reacted", None, "no_reaction"]


def test_a_file_goes_up_in_three_steps_and_no_step_can_be_left_out(server: SlackServer) -> None:
    assert (
        by_form(server, "files.getUploadURLExternal", filename="a", length=0)["error"] == "invalid_arguments"
    )
    opened = by_form(server, "files.getUploadURLExternal", filename="a.txt", length=4)
    complete: dict[str, Any] = {"channel_id": "C0A", "files": [{"id": opened["file_id"]}]}
    assert call(server, "files.completeUploadExternal", **complete)["error"] == "file_not_found"
    assert ask(opened["upload_url"], data=b"more than four").status == 400
    assert ask(opened["upload_url"], data=b"four").status == 200
    assert call(server, "files.completeUploadExternal", **complete)["ok"]
    (shown,) = server.sent(1)
    assert shown.file is not None
    assert shown.file.data == b"four"


def test_a_rate_limit_is_told_with_its_wait(server: SlackServer) -> None:
    server.fault("auth.test", status=429, error="ratelimited", retry_after=30)
    limited: Answer = ask(f"{server.root}/auth.test", json_body={}, headers=AUTHORISED)
    assert (limited.status, limited.headers["retry-after"]) == (429, "30")
    assert call(server, "auth.test")["ok"]


async def test_a_line_greets_hears_and_notes_what_is_acknowledged(
    server: SlackServer, line: aiohttp.ClientWebSocketResponse
) -> None:
    assert (await line.receive_json())["type"] == "hello"
    server.says("events_api", envelope_id="e1", payload={"event": {}})
    assert await line.receive_json() == {"type": "events_api", "envelope_id": "e1", "payload": {"event": {}}}
    await line.send_str(json.dumps({"envelope_id": "e1"}))
    assert await server.until_acknowledged(1) == ["e1"]
    server.breaks_line()
    assert (await line.receive()).type is aiohttp.WSMsgType.CLOSE
    assert line.close_code == 1011


def test_only_an_app_token_opens_a_line(server: SlackServer) -> None:
    assert call(server, "apps.connections.open", token=TOKEN)["error"] == "not_allowed_token_type"
    server.refuses_lines("missing_scope")
    assert call(server, "apps.connections.open", token=APP_TOKEN)["error"] == "missing_scope"

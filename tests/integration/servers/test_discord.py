"""The fake Discord refuses what Discord refuses, with its codes; asked by the plainest client, and by aiohttp."""

import base64
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import aiohttp
import anyio
import orjson
import pytest

from fermix.testing.servers.discord_api.people_side import CHAT
from fermix.testing.servers.discord_api.rest import MAX_NONCE, MAX_TEXT, MAX_UPLOAD, PACE_MESSAGES
from fermix.testing.servers.discord_api.server import INTENTS, DiscordServer, discord_server
from fermix.testing.servers.discord_api.world import BOT, GENERAL
from tests.integration.servers.plain import SECONDS, Answer, ask, form

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[DiscordServer]:
    with discord_server() as opened:
        yield opened


def call(
    server: DiscordServer, method: str, path: str, body: Any = None, *, token: str | None = None
) -> Answer:
    headers = {"Authorization": f"Bot {token or server.token}"}
    return ask(f"{server.api_base_url}/{path}", method=method, json_body=body, headers=headers)


def post(server: DiscordServer, content: str, *, chat: str = CHAT, **more: Any) -> Answer:
    return call(server, "POST", f"channels/{chat}/messages", {"content": content, **more})


def upload(server: DiscordServer, content: bytes) -> Answer:
    values = {"payload_json": orjson.dumps({"content": ""}).decode()}
    body, headers = form(values, ("files[0]", "f.bin", "application/octet-stream", content))
    where = f"{server.api_base_url}/channels/{CHAT}/messages"
    return ask(where, data=body, headers={**headers, "Authorization": f"Bot {server.token}"})


def code(answer: Answer) -> tuple[int, int]:
    return answer.status, answer.json["code"]


def test_the_longest_text_is_shown_and_no_longer_one(server: DiscordServer) -> None:
    assert post(server, "x" * MAX_TEXT).status == 200
    assert code(post(server, "x" * (MAX_TEXT + 1))) == (400, 50035)
    assert code(post(server, " \n")) == (400, 50006)
    assert len(server.sent(1)) == 1


def test_what_is_there_for_nobody_is_not_found(server: DiscordServer) -> None:
    assert code(call(server, "GET", "letters/5")) == (404, 0)
    assert code(call(server, "GET", f"channels/{CHAT}/messages/5")) == (404, 10008)
    server.closes_channel(CHAT)
    assert code(post(server, "x")) == (404, 10003)


@pytest.mark.parametrize("token", ["another", "Bot"])
def test_a_bad_token_is_let_in_nowhere(server: DiscordServer, token: str) -> None:
    for method, path in (("GET", "users/@me"), ("POST", f"channels/{CHAT}/messages"), ("GET", "gateway/bot")):
        assert code(call(server, method, path, token=token)) == (401, 0)


def test_the_largest_file_is_taken_and_no_larger_one(server: DiscordServer) -> None:
    told = upload(server, bytes(MAX_UPLOAD))
    assert told.status == 200
    assert code(upload(server, bytes(MAX_UPLOAD + 1))) == (413, 40005)
    (attached,) = told.json["attachments"]
    assert len(ask(attached["url"]).body) == MAX_UPLOAD
    assert ask(attached["url"], headers={"Authorization": f"Bot {server.token}"}).status == 404


def test_a_nonce_makes_one_message_of_two_calls_and_has_its_size(server: DiscordServer) -> None:
    twice = [post(server, "x", nonce="n" * MAX_NONCE, enforce_nonce=True).json["id"] for _ in range(2)]
    assert len(set(twice)) == 1
    assert code(post(server, "x", nonce="n" * (MAX_NONCE + 1))) == (400, 50035)


def test_only_ones_own_messages_can_be_changed(server: DiscordServer) -> None:
    theirs = server.user_writes("hello")
    ours = post(server, "helo").json["id"]
    where = f"channels/{CHAT}/messages"
    assert code(call(server, "PATCH", f"{where}/{theirs}", {"content": "bye"})) == (403, 50005)
    assert call(server, "PATCH", f"{where}/{ours}", {"content": "hello"}).json["content"] == "hello"


def test_history_is_read_a_hundred_at_a_time(server: DiscordServer) -> None:
    numbers = [server.user_writes(str(number)) for number in range(3)]
    where = f"channels/{CHAT}/messages"
    assert [each["id"] for each in call(server, "GET", f"{where}?limit=2").json] == numbers[:0:-1]
    assert [each["id"] for each in call(server, "GET", f"{where}?after={numbers[1]}").json] == numbers[2:]
    assert code(call(server, "GET", f"{where}?limit=101")) == (400, 50035)


def test_messages_that_come_too_fast_are_told_when_to_come_again() -> None:
    with discord_server(real_limits=True) as server:
        answers = [post(server, str(number)) for number in range(PACE_MESSAGES + 1)]
        assert post(server, "elsewhere", chat=GENERAL).status == 200
    assert [answer.status for answer in answers] == [200] * PACE_MESSAGES + [429]
    assert answers[-2].headers["x-ratelimit-remaining"] == "0"
    assert 0 < float(answers[-1].headers["retry-after"]) <= 5


async def test_an_interaction_is_answered_once(server: DiscordServer) -> None:
    async with opened(server):
        tap = server.user_commands("help")
        where = f"interactions/{tap}/interaction-key-{tap}/callback"
        answers = [call(server, "POST", where, {"type": 5}) for _ in range(2)]
    assert answers[0].status == 204
    assert code(answers[1]) == (400, 40060)
    assert code(call(server, "POST", "interactions/5/key/callback", {"type": 5})) == (404, 10062)


@asynccontextmanager
async def gateway(server: DiscordServer, query: str = "") -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A connection that was greeted."""
    where = f"{call(server, 'GET', 'gateway/bot').json['url']}/?v=10&encoding=json{query}"
    async with aiohttp.ClientSession() as session, session.ws_connect(where) as line:
        with anyio.fail_after(SECONDS):
            yield line


@asynccontextmanager
async def opened(
    server: DiscordServer,
) -> AsyncIterator[tuple[aiohttp.ClientWebSocketResponse, dict[str, Any]]]:
    """A connection with a session, and its READY."""
    async with gateway(server) as line:
        assert (await line.receive_json())["op"] == 10
        await line.send_json({"op": 2, "d": {"token": server.token, "intents": INTENTS}})
        ready = await line.receive_json()
        assert (await line.receive_json())["t"] == "GUILD_CREATE"
        yield line, ready


async def test_a_session_begins_and_heartbeats_are_answered(server: DiscordServer) -> None:
    async with opened(server) as (line, ready):
        assert (ready["t"], ready["s"], ready["d"]["user"]["id"]) == ("READY", 1, BOT)
        await line.send_json({"op": 1, "d": 2})
        assert (await line.receive_json())["op"] == 11
        server.user_writes("hello")
        told = await line.receive_json()
        assert (told["t"], told["s"], told["d"]["content"]) == ("MESSAGE_CREATE", 3, "hello")


@pytest.mark.parametrize(
    ("wrong", "close_code"), [({"token": "another"}, 4004), ({"intents": INTENTS | 1 << 8}, 4014)]
)
async def test_who_may_not_listen_is_closed_with_the_reason(
    server: DiscordServer, wrong: dict[str, Any], close_code: int
) -> None:
    async with gateway(server) as line:
        await line.receive_json()
        await line.send_json({"op": 2, "d": {"token": server.token, "intents": INTENTS, **wrong}})
        assert (await line.receive()).type is aiohttp.WSMsgType.CLOSE
        assert line.close_code == close_code


async def test_a_resumed_session_is_told_what_it_missed_and_an_unknown_one_begins_anew(
    server: DiscordServer,
) -> None:
    async with opened(server) as (_line, ready):
        session = ready["d"]["session_id"]
    await server.until(partial(server.closed, 1))
    server.user_writes("meanwhile")
    async with gateway(server) as line:
        await line.receive_json()
        await line.send_json({"op": 6, "d": {"token": server.token, "session_id": "nobody", "seq": 2}})
        assert (await line.receive_json())["op"] == 9
        await line.send_json({"op": 6, "d": {"token": server.token, "session_id": session, "seq": 2}})
        told = [await line.receive_json() for _ in range(2)]
    assert [(each["t"], each["s"]) for each in told] == [("MESSAGE_CREATE", 3), ("RESUMED", 4)]


async def test_a_compressed_connection_is_one_stream(server: DiscordServer) -> None:
    unpacking = zlib.decompressobj()
    async with gateway(server, "&compress=zlib-stream") as line:
        told = [orjson.loads(unpacking.decompress(await line.receive_bytes()))]
        await line.send_json({"op": 2, "d": {"token": server.token, "intents": INTENTS}})
        told += [orjson.loads(unpacking.decompress(await line.receive_bytes())) for _ in range(2)]
    assert [each["t"] for each in told] == [None, "READY", "GUILD_CREATE"]


def test_a_token_names_its_bot(server: DiscordServer) -> None:
    assert base64.b64decode(server.token.partition(".")[0]).decode() == BOT

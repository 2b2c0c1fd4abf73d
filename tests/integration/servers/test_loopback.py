"""What all servers stand on, met without any client library: bodies, broken lines, doors, and WebSocket frames."""

import os
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from typing_extensions import override

from fermix.testing import servers
from fermix.testing.servers.discord_api.server import discord_server
from fermix.testing.servers.loopback import Endpoint, Platform, Request, Served
from fermix.testing.servers.multipart import BadForm, parts_of
from fermix.testing.servers.slack_api.server import slack_server
from fermix.testing.servers.telegram_api.server import telegram_server
from fermix.testing.servers.websocket import MAX_MESSAGE, WebSocket
from fermix.testing.servers.whatsapp_api.server import whatsapp_server
from tests.integration.servers.plain import SECONDS, ask, form

pytestmark = pytest.mark.anyio

SERVERS: tuple[Callable[[], AbstractContextManager[Served[Any]]], ...] = (
    discord_server,
    slack_server,
    telegram_server,
    whatsapp_server,
)


class Echo(Endpoint[Platform]):
    """Answers with what it got, hangs, or says over a WebSocket again what it hears."""

    max_body = 100

    @override
    def serve(self, request: Request) -> None:
        if request.path == "/line":
            line = WebSocket(self, request)
            for message in line.messages():
                line.send(message)
                if message == b"enough":
                    line.close(4999)
        elif request.path == "/hang":
            self.hang(float("inf"))
        else:
            self.reply(200, f"{request.method} {request.path}?{request.query} ".encode() + request.body)


@pytest.fixture
def server() -> Iterator[Served[Platform]]:
    served = Served(Platform(), Echo, 0)
    yield served
    served.close()


@pytest.fixture
async def line(server: Served[Platform]) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{server.address}/line") as opened:
        with anyio.fail_after(SECONDS):
            yield opened


@pytest.mark.parametrize("serve", SERVERS, ids=lambda serve: serve.__name__)
def test_who_goes_away_is_not_there_and_comes_back_at_the_same_address(
    serve: Callable[[], AbstractContextManager[Served[Any]]],
) -> None:
    with serve() as server:
        assert ask(f"{server.address}/nothing/here").status < 500
        server.goes_away()
        with pytest.raises(ConnectionRefusedError):
            ask(f"{server.address}/nothing/here")
        server.comes_back()
        assert ask(f"{server.address}/nothing/here").status < 500
        address = server.address
    with pytest.raises(ConnectionRefusedError):
        ask(f"{address}/nothing/here")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_every_method_arrives_with_path_and_query(server: Served[Platform], method: str) -> None:
    answer = ask(f"{server.address}/a%20b?c=d", method=method, data=b"body")
    assert answer.body == f"{method} /a%20b?c=d body".encode()


def test_the_largest_body_is_read_and_no_larger_one(server: Served[Platform]) -> None:
    assert ask(server.address, data=b"x" * 100).status == 200
    assert ask(server.address, data=b"x" * 101).status == 413


@pytest.mark.parametrize(
    ("pieces", "status"), [((b"60" * 25, b"x" * 50), 200), ((b"y" * 60, b"x" * 41), 413)]
)
def test_a_body_in_pieces_is_read_up_to_the_same_size(
    server: Served[Platform], pieces: tuple[bytes, ...], status: int
) -> None:
    raw = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    raw += b"".join(f"{len(each):x}\r\n".encode() + each + b"\r\n" for each in (*pieces, b""))
    answered = exchange(server, raw)
    assert answered.startswith(f"HTTP/1.1 {status} ".encode())
    assert status != 200 or answered.endswith(b"".join(pieces))


async def test_a_request_that_hangs_ends_when_its_client_leaves(server: Served[Platform]) -> None:
    with socket.create_connection(("127.0.0.1", port_of(server)), SECONDS) as client:
        client.sendall(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
        await server.until_hanging()
        assert server.connections == 1
    assert await server.until_connections(0) == 0


async def test_a_wait_that_is_in_vain_says_what_was_there(server: Served[Platform]) -> None:
    with pytest.raises(AssertionError, match="3 things: not within 0 s, found 2"):
        server.wait(lambda: 2, lambda found: found == 3, "3 things", 0)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, MAX_MESSAGE])
async def test_a_message_of_any_size_comes_back_whole(
    line: aiohttp.ClientWebSocketResponse, size: int
) -> None:
    message = os.urandom(size)
    await line.send_bytes(message)
    assert await line.receive_bytes() == message


async def test_a_message_in_pieces_is_one_and_pings_in_between_are_answered(server: Served[Platform]) -> None:
    frames = [
        masked(0x01, b"he"),
        masked(0x89, b"?"),
        masked(0x80, b"llo"),
        masked(0x88, struct.pack("!H", 1000)),
    ]
    answered = exchange(server, handshake() + b"".join(frames))
    pong, told, closed = b"\x8a\x01?", b"\x82\x05hello", b"\x88\x02\x03\xe8"
    assert answered.endswith(pong + told + closed)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\x81\x02hi", 1002),
        (b"\xc1\x80\0\0\0\0", 1002),
        (b"\x82\xff" + struct.pack("!Q", MAX_MESSAGE + 1), 1009),
    ],
)
def test_what_no_client_may_send_closes_the_line(server: Served[Platform], frame: bytes, code: int) -> None:
    assert exchange(server, handshake() + frame).endswith(b"\x88\x02" + struct.pack("!H", code))


async def test_a_server_closes_with_its_code_after_what_it_said(
    line: aiohttp.ClientWebSocketResponse,
) -> None:
    await line.send_bytes(b"enough")
    assert await line.receive_bytes() == b"enough"
    assert (await line.receive()).type is aiohttp.WSMsgType.CLOSE
    assert line.close_code == 4999


def test_a_line_that_is_no_websocket_is_refused(server: Served[Platform]) -> None:
    assert ask(f"{server.address}/line").status == 426


def test_a_form_is_taken_apart_and_a_broken_one_refused() -> None:
    content = b"\r\n--not the boundary\r\n\0\xff"
    body, headers = form({"a": "b"}, ("file", "p.bin", "image/png", content))
    value, file = parts_of(headers["Content-Type"], body)
    assert (value.name, value.file_name, value.text) == ("a", None, "b")
    assert (file.name, file.file_name, file.mime_type, file.content) == (
        "file",
        "p.bin",
        "image/png",
        content,
    )
    for broken in (body[:-6], b"", body.replace(b"name=", b"nome=")):
        with pytest.raises(BadForm):
            parts_of(headers["Content-Type"], broken)
    with pytest.raises(BadForm):
        parts_of("multipart/form-data", body)


def port_of(server: Served[Platform]) -> int:
    return int(server.address.rpartition(":")[2])


def handshake() -> bytes:
    lines = (
        "GET /line HTTP/1.1",
        "Host: x",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: eA==",
    )
    return "\r\n".join((*lines, "", "")).encode()


def masked(first: int, data: bytes) -> bytes:
    mask = b"\x01\x02\x03\x04"
    covered = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
    return bytes([first, 0x80 | len(data)]) + mask + covered


def exchange(server: Served[Platform], raw: bytes) -> bytes:
    """Everything that comes back until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port_of(server)), SECONDS) as client:
        client.sendall(raw)
        answered = bytearray()
        while piece := client.recv(65_536):
            answered += piece
    return bytes(answered)


def test_every_server_is_named_where_people_look_for_it() -> None:
    told = servers.__doc__ or ""
    folder = Path(servers.__file__ or "").parent
    there = {path.name for path in folder.iterdir() if (path / "server.py").is_file()}
    named = re.findall(r"`(\w+)\.server\.(\w+)`", told)
    assert {package for package, _ in named} == there
    assert all(
        hasattr(import_module(f"fermix.testing.servers.{package}.server"), start) for package, start in named
    )

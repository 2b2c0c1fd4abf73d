"""The pooled transport against servers that keep to the protocol, and against ones that do not."""

import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import httpx
import pytest
import trustme
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream

from fermix.infrastructure.http_client.transport import PooledTransport

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
LIMITS = httpx.Timeout(5)
DID_NOT_LEAVE = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.LocalProtocolError,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
)


@dataclass(slots=True)
class Server:
    """A socket that counts its connections and keeps what was said to it."""

    port: int = 0
    connections: int = 0
    heard: list[bytes] = field(default_factory=list[bytes])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/path?q=1"

    async def request(self, stream: ByteStream) -> bytes:
        """Read one request with a body of a known length."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += await stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            ),
            0,
        )
        while len(body) < length:
            body += await stream.receive()
        self.heard.append(head + b"\r\n\r\n" + body)
        return body


Behaviour = Callable[[Server, SocketStream], Awaitable[None]]


@asynccontextmanager
async def serving(behaviour: Behaviour) -> AsyncGenerator[Server]:
    server = Server()

    async def serve(stream: SocketStream) -> None:
        server.connections += 1
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await behaviour(server, stream)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        server.port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # not Django's
        tasks.start_soon(listener.serve, serve)
        yield server
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def client(
    *, connections: int = 4, idle_seconds: float = 30, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[httpx.AsyncClient]:
    transport = PooledTransport(
        connections=connections, idle_seconds=idle_seconds, tls=lambda: tls or httpx.create_ssl_context()
    )
    with anyio.fail_after(20):
        async with httpx.AsyncClient(transport=transport, timeout=LIMITS) as http:
            yield http


async def polite(server: Server, stream: SocketStream) -> None:
    while True:
        await server.request(stream)
        await stream.send(OK)


def answering(*pieces: bytes) -> Behaviour:
    async def behave(server: Server, stream: SocketStream) -> None:
        await server.request(stream)
        for piece in pieces:
            await stream.send(piece)

    return behave


async def test_requests_follow_each_other_over_one_connection_with_head_and_body_as_given() -> None:
    async with serving(polite) as server, client() as http:
        for number in range(3):
            answer = await http.post(server.url, json={"number": number}, headers={"X-Mine": "yes"})
            assert (answer.status_code, answer.text) == (200, "hello")
    assert server.connections == 1
    assert server.heard[2].startswith(b"POST /path?q=1 HTTP/1.1\r\n")
    assert b"x-mine: yes" in server.heard[2].lower()
    assert server.heard[2].endswith(b'{"number":2}')


async def test_a_long_body_arrives_whole() -> None:
    async with serving(polite) as server, client() as http:
        await http.post(server.url, content=b"x" * 3_000_000)
    assert server.heard[0].count(b"x") >= 3_000_000


async def test_an_answer_in_chunks_comes_piece_by_piece() -> None:
    chunks = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"3\r\none\r\n",
        b"3\r\ntwo\r\n",
        b"0\r\n\r\n",
    )
    async with (
        serving(answering(*chunks)) as server,
        client() as http,
        http.stream("GET", server.url) as answer,
    ):
        assert b"".join([piece async for piece in answer.aiter_raw()]) == b"onetwo"


async def test_hints_before_the_answer_are_passed_over() -> None:
    async with (
        serving(answering(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK)) as server,
        client() as http,
    ):
        assert (await http.get(server.url)).status_code == 200


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async with serving(answering(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")) as server, client() as http:
        assert (await http.get(server.url)).text == "until the end"
        assert (await http.get(server.url)).text == "until the end"
    assert server.connections == 2


async def test_a_refusal_of_a_long_request_is_read_though_the_rest_is_not_taken() -> None:
    async def refuse(server: Server, stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        while True:
            await stream.receive()

    async with serving(refuse) as server, client() as http:
        assert (await http.post(server.url, content=b"x" * 5_000_000)).status_code == 413


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    closed = anyio.Event()

    async def once(server: Server, stream: SocketStream) -> None:
        await server.request(stream)
        await stream.send(OK)
        await stream.aclose()
        closed.set()

    async with serving(once) as server, client() as http:
        await http.get(server.url)
        await closed.wait()
        await anyio.wait_all_tasks_blocked()
        assert (await http.get(server.url)).status_code == 200
    assert server.connections == 2


async def test_a_connection_unused_for_too_long_is_replaced() -> None:
    async with serving(polite) as server, client(idle_seconds=0) as http:
        await http.get(server.url)
        await anyio.wait_all_tasks_blocked()
        await http.get(server.url)
    assert server.connections == 2


async def test_an_answer_left_unread_costs_its_connection_and_nothing_else() -> None:
    async with serving(polite) as server, client(connections=1) as http:
        for _ in range(3):
            async with http.stream("GET", server.url) as answer:
                assert answer.status_code == 200
        assert (await http.get(server.url)).text == "hello"


async def test_no_more_connections_are_open_at_once_than_allowed_and_who_waits_too_long_is_told() -> None:
    async def silent(server: Server, stream: SocketStream) -> None:
        await server.request(stream)
        await anyio.sleep_forever()

    async with serving(silent) as server, client(connections=2) as http, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(http.get, server.url)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(httpx.PoolTimeout):
            await http.get(server.url, timeout=httpx.Timeout(5, pool=0.05))
        tasks.cancel_scope.cancel()
    assert server.connections <= 2


async def test_a_cancelled_request_gives_its_place_back() -> None:
    arrived = anyio.Event()

    async def slow_first(server: Server, stream: SocketStream) -> None:
        await server.request(stream)
        if len(server.heard) == 1:
            arrived.set()
            await anyio.sleep_forever()
        await stream.send(OK)

    async with serving(slow_first) as server, client(connections=1) as http:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(http.get, server.url)
            await arrived.wait()
            tasks.cancel_scope.cancel()
        assert (await http.get(server.url)).text == "hello"


async def test_nobody_listening_and_no_such_name_mean_that_nothing_left() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # not Django's
    async with client() as http:
        for url in (
            f"http://127.0.0.1:{port}/",
            "http://no-such-name.invalid/",
            "http://" + "x" * 70 + ".invalid/",
        ):
            with pytest.raises(httpx.ConnectError):
                await http.get(url)


async def test_a_server_without_tls_and_an_untrusted_one_mean_that_nothing_left() -> None:
    async def plain(_server: Server, stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(OK)

    async with serving(plain) as server, client() as http:
        with pytest.raises(httpx.ConnectError) as refused:
            await http.get(server.url.replace("http://", "https://"))
    assert isinstance(
        refused.value.__cause__, ssl.SSLError | OSError | anyio.BrokenResourceError | anyio.EndOfStream
    )


async def test_a_trusted_server_is_spoken_to_over_tls_and_an_untrusted_one_is_not() -> None:
    authority = trustme.CA()
    ours, theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(ours)
    authority.configure_trust(theirs)

    async def over_tls(server: Server, stream: SocketStream) -> None:
        secured = await TLSStream.wrap(stream, server_side=True, ssl_context=ours, standard_compatible=False)
        for _ in range(2):
            await server.request(secured)
            await secured.send(OK)

    async with serving(over_tls) as server, client(tls=theirs) as trusting, client() as wary:
        url = server.url.replace("http://", "https://")
        assert [(await trusting.get(url)).text for _ in range(2)] == ["hello", "hello"]
        assert server.connections == 1
        with pytest.raises(httpx.ConnectError) as refused:
            await wary.get(url)
    assert isinstance(refused.value.__cause__, ssl.SSLCertVerificationError)


async def test_certificates_that_cannot_be_read_mean_that_nothing_left() -> None:
    def unreadable() -> ssl.SSLContext:
        raise FileNotFoundError("/home/somebody/certificates.pem")

    transport = PooledTransport(connections=1, idle_seconds=30, tls=unreadable)
    async with serving(polite) as server, httpx.AsyncClient(transport=transport, timeout=LIMITS) as http:
        with pytest.raises(httpx.ConnectError) as refused:
            await http.get(server.url.replace("http://", "https://"))
        assert "somebody" not in str(refused.value)
        assert (await http.get(server.url)).text == "hello", "the place was given back"


async def test_a_handshake_that_never_ends_is_a_connect_time_out() -> None:
    async def silent(_server: Server, stream: SocketStream) -> None:
        await stream.receive()
        await anyio.sleep_forever()

    async with serving(silent) as server, client() as http:
        with pytest.raises(httpx.ConnectTimeout):
            await http.get(server.url.replace("http://", "https://"), timeout=httpx.Timeout(5, connect=0.05))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param((), httpx.RemoteProtocolError, id="closed before the answer"),
        pytest.param((b"HTTP/1.1 200 OK\r\nContent-Le",), httpx.RemoteProtocolError, id="half a head"),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",),
            httpx.RemoteProtocolError,
            id="half a body",
        ),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n",),
            httpx.RemoteProtocolError,
            id="no last chunk",
        ),
        pytest.param((b"\x00\xff garbage \r\n\r\n",), httpx.RemoteProtocolError, id="garbage"),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,), httpx.RemoteProtocolError, id="endless head"
        ),
    ],
)
async def test_what_ends_in_the_middle_leaves_it_open_whether_the_request_arrived(
    answer: tuple[bytes, ...], expected: type[httpx.TransportError]
) -> None:
    async with serving(answering(*answer)) as server, client() as http:
        with pytest.raises(expected) as raised:
            await http.post(server.url, content=b"body")
        assert not isinstance(raised.value, DID_NOT_LEAVE)
        assert len(server.heard) == 1, "nothing is ever sent twice"


async def test_a_server_that_stops_sending_is_a_read_time_out_whether_before_or_within_its_answer() -> None:
    for answer in ((), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",)):

        async def stall(server: Server, stream: SocketStream, pieces: tuple[bytes, ...] = answer) -> None:
            await server.request(stream)
            for piece in pieces:
                await stream.send(piece)
            await anyio.sleep_forever()

        async with serving(stall) as server, client() as http:
            with pytest.raises(httpx.ReadTimeout):
                await http.get(server.url, timeout=httpx.Timeout(5, read=0.05))


async def test_a_server_that_reads_nothing_is_a_write_time_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody_accepts:
        url = f"http://127.0.0.1:{nobody_accepts.getsockname()[1]}/"
        async with client() as http:
            with pytest.raises(httpx.WriteTimeout):
                await http.post(url, content=b"x" * 30_000_000, timeout=httpx.Timeout(5, write=0.05))


async def test_a_long_body_may_take_longer_than_the_time_limit_while_it_goes_on() -> None:
    async def read_slowly(server: Server, stream: SocketStream) -> None:
        left = 24_000_000
        while left > 0:
            left -= len(await stream.receive(65_536))
            await anyio.sleep(0.004)  # the pace of a slow line
        await stream.send(OK)

    async with serving(read_slowly) as server, client() as http:
        began = anyio.current_time()
        answer = await http.post(server.url, content=b"x" * 24_000_000, timeout=httpx.Timeout(20, write=0.8))
        assert answer.status_code == 200
        assert anyio.current_time() - began > 0.8


async def test_other_addresses_than_http_ones_and_broken_headers_are_refused_before_anything_is_sent() -> (
    None
):
    async with serving(polite) as server, client() as http:
        with pytest.raises(httpx.UnsupportedProtocol):
            await http.get("ftp://127.0.0.1/file")
        with pytest.raises(httpx.LocalProtocolError):
            await http.get(server.url, headers={"X": "a\r\nInjected: yes"})
        assert (await http.get(server.url)).status_code == 200
    assert len(server.heard) == 1


async def test_after_closing_nothing_is_kept() -> None:
    ended = anyio.Event()

    async def watch(server: Server, stream: SocketStream) -> None:
        try:
            await polite(server, stream)
        finally:
            ended.set()

    async with serving(watch) as server:
        async with client() as http:
            await http.get(server.url)
        with anyio.fail_after(5):
            await ended.wait()

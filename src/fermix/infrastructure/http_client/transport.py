"""An httpx transport that costs a fraction of the one httpx brings along, for a bounded number of connections."""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any

import anyio
import httpx
from typing_extensions import override

from fermix.infrastructure.http_client.connection import Connection, Patience, Server

_PORTS = {"http": 80, "https": 443}


class PooledTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over at most `connections` at once, each kept `idle_seconds` for the next request.

    Speaks to servers directly, through no proxy. Never sends a request twice. Raises httpx's own exceptions, and
    says truly whether a request left: `ConnectError`, `ConnectTimeout`, `PoolTimeout`, `UnsupportedProtocol` and
    `LocalProtocolError` mean that it did not, everything else that nobody knows.

    httpx's own transport asks the system about every kept connection at every request, and enters three
    cancellation scopes for every read; with sixteen connections that was half of what a message costs.
    """

    def __init__(
        self,
        *,
        connections: int,
        idle_seconds: float,
        tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._make_tls = tls
        self._idle_seconds = idle_seconds
        self._free = anyio.Semaphore(connections, fast_acquire=True)
        self._idle: dict[Server, list[Connection]] = {}
        self._closed = False

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        server = _server(request.url)
        limits: Mapping[str, Any] = request.extensions.get("timeout", {})
        await self._take_place(limits.get("pool"))
        connection: Connection | None = None
        patience = Patience(write=limits.get("write"), read=limits.get("read"))
        try:
            connection = await self._idle_one(server) or await Connection.open(
                server.host,
                server.port,
                self._tls if server.scheme == "https" else None,
                seconds=limits.get("connect"),
            )
            head = await connection.ask(request, patience)
        except BaseException:
            await self._give_up(connection)
            raise
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Body(self, server, connection, patience),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    @override
    async def aclose(self) -> None:
        """Close what is idle, and from now on each connection at the end of its request."""
        self._closed = True
        idle = [each for connections in self._idle.values() for each in connections]
        self._idle.clear()
        for connection in idle:
            await connection.abandon()

    @override
    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()

    async def give_back(self, server: Server, connection: Connection) -> None:
        """An exchange is over: keep its connection if another may follow."""
        if self._closed or not connection.is_reusable:
            await self._give_up(connection)
            return
        connection.idle_since = anyio.current_time()
        self._idle.setdefault(server, []).append(connection)
        self._free.release()

    async def _give_up(self, connection: Connection | None) -> None:
        self._free.release()
        if connection is not None:
            await connection.abandon()

    async def _take_place(self, seconds: float | None) -> None:
        try:
            self._free.acquire_nowait()
        except anyio.WouldBlock:
            try:
                with anyio.fail_after(seconds):
                    await self._free.acquire()
            except TimeoutError as exc:
                raise httpx.PoolTimeout("all connections were busy") from exc

    async def _idle_one(self, server: Server) -> Connection | None:
        """The connection used last, if it still stands; what is stale on the way to it is closed."""
        oldest = anyio.current_time() - self._idle_seconds
        for other in [*self._idle]:
            kept = self._idle[other]
            while kept and kept[0].idle_since < oldest:
                await kept.pop(0).abandon()
            if not kept:
                self._idle.pop(other, None)
        kept = self._idle.get(server, [])
        while kept:
            connection = kept.pop()
            if not connection.has_news():
                return connection
            await connection.abandon()
        return None

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        try:
            context = self._make_tls()
        except OSError as exc:
            # The error's words are not passed on: they hold a path of this machine.
            raise httpx.ConnectError("the certificates that the environment names cannot be read") from exc
        context.set_alpn_protocols(["http/1.1"])
        return context


class _Body(httpx.AsyncByteStream):
    """The body of an answer; closing it ends the exchange."""

    def __init__(
        self, pool: PooledTransport, server: Server, connection: Connection, patience: Patience
    ) -> None:
        self._pool = pool
        self._server = server
        self._connection: Connection | None = connection
        self._patience = patience

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._connection is not None:
            piece = await self._connection.receive(self._patience)
            if piece is None:
                return
            yield piece

    @override
    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._pool.give_back(self._server, connection)


def _server(url: httpx.URL) -> Server:
    port = _PORTS.get(url.scheme)
    if port is None or not url.raw_host:
        raise httpx.UnsupportedProtocol("the address is no http:// or https:// address")
    return Server(scheme=url.scheme, host=url.raw_host.decode("ascii"), port=url.port or port)

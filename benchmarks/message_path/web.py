"""An HTTP server that costs next to nothing: one protocol object per connection, no framework."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from typing_extensions import override

Handler = Callable[[str, bytes], Awaitable[tuple[str, bytes]]]
"""Path and body in; content type and body of the answer out."""


class HttpConnection(asyncio.Protocol):
    """Requests with a body of a known length, answered one after another."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._data = b""
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._answering is not None:
            self._answering.cancel()

    @override
    def data_received(self, data: bytes) -> None:
        self._data += data
        if self._answering is None or self._answering.done():
            self._next()

    def _next(self) -> None:
        head, found, rest = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        length = 0
        for line in head.split(b"\r\n"):
            if line[:15].lower() == b"content-length:":
                length = int(line[15:])
        if len(rest) < length:
            return
        body, self._data = rest[:length], rest[length:]
        path = unquote(head.split(b" ", 2)[1].decode().partition("?")[0])
        self._answering = asyncio.get_running_loop().create_task(self._answer(path, body))

    async def _answer(self, path: str, body: bytes) -> None:
        kind, answer = await self._handler(path, body)
        assert self._transport is not None
        self._transport.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\n\r\n".encode()
            + answer
        )
        self._answering = None
        self._next()


async def serve(handler: Handler) -> tuple[asyncio.Server, int]:
    """Listen on the loopback interface; the server and its port."""
    server = await asyncio.get_running_loop().create_server(lambda: HttpConnection(handler), "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    return server, port

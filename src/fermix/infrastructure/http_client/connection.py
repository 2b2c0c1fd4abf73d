"""One connection to one server: requests one after another, each error sorted by how far its request got."""

import select
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio
import anyio.abc
import h11
import httpx
from anyio.streams.tls import TLSStream

_READ_BYTES = 65_536
_WRITE_BYTES = 4 * _READ_BYTES
_MAX_HEAD_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a connection leads to."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Limits in seconds between two bytes: sent, and received."""

    write: float | None
    read: float | None


class Connection:
    """An open connection. Not for two requests at once."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self.idle_since = 0.0

    @classmethod
    async def open(
        cls, host: str, port: int, tls: ssl.SSLContext | None, *, seconds: float | None
    ) -> "Connection":
        """Connect.

        Raises:
            httpx.ConnectTimeout: not in time.
            httpx.ConnectError: no such name, nobody listens, or no secure connection could be made.
        """
        try:
            with anyio.fail_after(seconds):
                plain = await anyio.connect_tcp(host, port)
                stream = plain if tls is None else await _secured(plain, tls, host)
        except TimeoutError as exc:
            raise httpx.ConnectTimeout("no connection in time") from exc
        except (OSError, ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream, ValueError) as exc:
            # A name that cannot be encoded is a ValueError.
            raise httpx.ConnectError(str(exc)) from exc
        return cls(stream)

    @property
    def is_reusable(self) -> bool:
        """Whether the last exchange ended so that another may follow, as far as both sides said."""
        return self._wire.our_state is h11.IDLE and self._wire.their_state is h11.IDLE

    def has_news(self) -> bool:
        """Whether something came in while nothing was asked: that can only be the end of the connection."""
        handle = self._stream.extra(anyio.abc.SocketAttribute.raw_socket).fileno()  # noqa: S610  # not Django's
        if handle < 0:
            return True
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(0))

    async def ask(self, request: httpx.Request, patience: Patience) -> h11.Response:
        """Send a request and wait for the head of its answer.

        Raises:
            httpx.LocalProtocolError: the request is none; nothing was sent.
            httpx.WriteTimeout: it was sent in part at most.
            httpx.ReadTimeout, httpx.ReadError, httpx.RemoteProtocolError: nobody knows what became of it.
        """
        try:
            async for piece in self._pieces(request):
                await self._send(piece, patience.write)
        except httpx.WriteError:
            # A server that refuses a long request may answer before it has read all of it.
            pass
        while True:
            event = await self._next(patience.read)
            if isinstance(event, h11.Response):
                return event
            if isinstance(event, h11.ConnectionClosed):
                raise httpx.RemoteProtocolError("the connection closed before an answer")

    async def receive(self, patience: Patience) -> bytes | None:
        """The next piece of the answer's body, `None` at its end.

        Raises:
            httpx.ReadTimeout, httpx.ReadError, httpx.RemoteProtocolError: the rest is lost.
        """
        while True:
            event = await self._next(patience.read)
            if isinstance(event, h11.Data):
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                if self._wire.our_state is h11.DONE and self._wire.their_state is h11.DONE:
                    self._wire.start_next_cycle()
                return None
            if isinstance(event, h11.ConnectionClosed):
                raise httpx.RemoteProtocolError("the connection closed within an answer")

    async def abandon(self) -> None:
        """Close it without ceremony: a closing handshake could wait for a peer that is gone."""
        await anyio.aclose_forcefully(self._stream)

    async def _pieces(self, request: httpx.Request) -> AsyncIterator[bytes]:
        """What goes over the wire; a small body travels together with the head."""
        try:
            head = h11.Request(
                method=request.method, target=request.url.raw_path, headers=request.headers.raw
            )
            waiting = self._wire.send(head) or b""
            assert isinstance(request.stream, httpx.AsyncByteStream)  # noqa: S101  # an async client made it
            async for chunk in request.stream:
                waiting += self._wire.send(h11.Data(data=chunk)) or b""
                if len(waiting) > _READ_BYTES:
                    yield waiting
                    waiting = b""
            yield waiting + (self._wire.send(h11.EndOfMessage()) or b"")
        except h11.LocalProtocolError as exc:
            raise httpx.LocalProtocolError(str(exc)) from exc

    async def _send(self, data: bytes, seconds: float | None) -> None:
        """Send in pieces that have the time limit each: a slow line is one that goes on."""
        try:
            for start in range(0, len(data), _WRITE_BYTES):
                with anyio.fail_after(seconds):
                    await self._stream.send(data[start : start + _WRITE_BYTES])
        except TimeoutError as exc:
            raise httpx.WriteTimeout("the request could not be sent in time") from exc
        except (OSError, ssl.SSLError, anyio.BrokenResourceError, anyio.ClosedResourceError) as exc:
            raise httpx.WriteError(str(exc)) from exc

    async def _next(self, seconds: float | None) -> h11.Event:
        while True:
            try:
                event = self._wire.next_event()
            except h11.RemoteProtocolError as exc:
                raise httpx.RemoteProtocolError(str(exc)) from exc
            if event is h11.NEED_DATA:
                self._wire.receive_data(await self._receive(seconds))
            elif isinstance(event, h11.Event):
                return event
            else:
                raise httpx.RemoteProtocolError("the server speaks another protocol")

    async def _receive(self, seconds: float | None) -> bytes:
        try:
            with anyio.fail_after(seconds):
                return await self._stream.receive(_READ_BYTES)
        except anyio.EndOfStream:
            return b""
        except TimeoutError as exc:
            raise httpx.ReadTimeout("the server stopped sending") from exc
        except (OSError, ssl.SSLError, anyio.BrokenResourceError, anyio.ClosedResourceError) as exc:
            raise httpx.ReadError(str(exc)) from exc


async def _secured(stream: anyio.abc.SocketStream, tls: ssl.SSLContext, host: str) -> anyio.abc.ByteStream:
    try:
        return await TLSStream.wrap(
            stream, hostname=host, ssl_context=tls, standard_compatible=False, server_side=False
        )
    except BaseException:
        await anyio.aclose_forcefully(stream)
        raise

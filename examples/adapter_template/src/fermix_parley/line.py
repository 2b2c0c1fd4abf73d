"""One request to a Parley server: connect, send a line, read a line, close."""

from dataclasses import dataclass

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

MAX_LINE = 1024 * 1024
"""Bytes of the longest answer that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a server listens."""

    host: str
    port: int


class NobodyThere(Exception):
    """No line could be opened: the request certainly did not leave."""


class NoAnswer(Exception):
    """The request may have left, and no whole answer came."""


async def ask(server: Server, request: bytes, *, seconds: float) -> bytes:
    """Send one line and read the one that answers it, both without their end.

    Args:
        server: whom to ask.
        request: without a line break inside.
        seconds: how long the answer may take.

    Raises:
        NobodyThere: see there.
        NoAnswer: see there.
    """
    try:
        stream = await anyio.connect_tcp(server.host, server.port)
    except OSError as exc:
        raise NobodyThere(f"nobody listens at {server.host}:{server.port}") from exc
    async with stream:
        try:
            with anyio.fail_after(seconds):
                await stream.send(request + b"\n")
                return await BufferedByteReceiveStream(stream).receive_until(b"\n", MAX_LINE)
        except TimeoutError as exc:
            raise NoAnswer(f"no answer within {seconds:g} s") from exc
        except (anyio.BrokenResourceError, anyio.IncompleteRead, anyio.DelimiterNotFound) as exc:
            raise NoAnswer("the line broke before the answer was whole") from exc

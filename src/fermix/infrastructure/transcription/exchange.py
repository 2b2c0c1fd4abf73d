"""The HTTP under the services: one streamed request, one bounded answer. Loaded late, for its client is heavy."""

import logging
from collections.abc import AsyncIterator

import httpx

from fermix.infrastructure.http_client.transport import PooledTransport
from fermix.infrastructure.transcription.limits import MAX_ANSWER_BYTES, AskingLimits, Unreached
from fermix.infrastructure.transcription.wire import Question

_CONNECTIONS = 4
_IDLE_SECONDS = 30.0


class Exchange:
    """Asks one service. Follows no redirect, so that a key never travels to an address that nobody configured."""

    def __init__(self, *, proxy: str | None, limits: AskingLimits) -> None:
        self._limits = limits
        self._transport = _through(proxy) if proxy else _straight()

    async def ask(
        self, question: Question, size: int, pieces: AsyncIterator[bytes]
    ) -> tuple[int, bytes | None]:
        """Send a question with its recording.

        Args:
            question: what to send.
            size: of the recording, in bytes.
            pieces: the recording; what it raises comes out as it is.

        Returns:
            The answer's status and body; no body when it is longer than any answer is.

        Raises:
            Unreached: there is no whole answer.
        """
        try:
            response = await self._transport.handle_async_request(self._request(question, size, pieces))
            try:
                return response.status_code, await _whole(response)
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as exc:
            kind = type(exc).__name__
        # Raised outside: what a client library says of a request may hold its headers, and so the key.
        raise Unreached(kind)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def _request(self, question: Question, size: int, pieces: AsyncIterator[bytes]) -> httpx.Request:
        limits = self._limits
        timeout = httpx.Timeout(limits.silence, connect=limits.connect, pool=limits.whole)
        return httpx.Request(
            "POST",
            question.url,
            headers={
                **question.headers,
                "Content-Length": str(len(question.before) + size + len(question.after)),
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": "fermix",
            },
            content=_body(question, pieces),
            extensions={"timeout": timeout.as_dict()},
        )


def _straight() -> httpx.AsyncBaseTransport:
    certificates = httpx.create_ssl_context()  # here and not at the first request: this runs in a thread
    return PooledTransport(connections=_CONNECTIONS, idle_seconds=_IDLE_SECONDS, tls=lambda: certificates)


def _through(proxy: str) -> httpx.AsyncBaseTransport:
    # At its lowest level the transport logs the headers of replies, and a server may send the key back in one.
    logging.getLogger("httpcore").setLevel(logging.INFO)
    limits = httpx.Limits(max_connections=_CONNECTIONS, keepalive_expiry=_IDLE_SECONDS)
    certificates = httpx.create_ssl_context()
    return httpx.AsyncHTTPTransport(verify=certificates, limits=limits, proxy=proxy, trust_env=False)


def open_exchange(proxy: str | None, limits: AskingLimits) -> Exchange:
    """An exchange with nothing opened yet. Blocks for as long as certificates take to be read.

    Raises:
        Unreached: the proxy or the certificates that the environment names cannot be used.
    """
    try:
        return Exchange(proxy=proxy, limits=limits)
    except (ImportError, OSError, ValueError, httpx.InvalidURL):
        pass
    # Raised outside: the address of a proxy may hold a password.
    raise Unreached("the proxy or the certificates that the environment names cannot be used")


async def _body(question: Question, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield question.before
    async for piece in pieces:
        yield piece
    yield question.after


async def _whole(response: httpx.Response) -> bytes | None:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            return None
    return bytes(body)

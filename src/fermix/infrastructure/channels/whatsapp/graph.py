"""The Graph API for one phone number, straight over a connection pool: no log ever sees an address or a token."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from fermix.infrastructure.channels.whatsapp.errors import NoAnswer, NotSent, Refused, read_refusal
from fermix.infrastructure.http_client.opening import NOT_LEFT, UnusableProxy, open_transport

MAX_CALLS = 16
"""Requests under way at once; more only make each of them slower."""

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
WRITE_SECONDS = 30.0
POOL_SECONDS = 5.0
IDLE_SECONDS = 30.0
"""How long an unused connection is kept: one that the server closes as it is used makes an outcome unknown."""

MAX_ANSWER_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPlace:
    """Where the API is, and as whom it is asked.

    Attributes:
        root: without a slash at its end.
        version: as in `v19.0`.
        phone_number_id: the number that everything is sent from.
    """

    root: str
    version: str
    phone_number_id: str
    access_token: str

    @property
    def number(self) -> str:
        """The address of our number."""
        return self.address(self.phone_number_id)

    def address(self, path: str) -> str:
        """The address of something in the API."""
        return f"{self.root}/{self.version}/{path}"


class Graph:
    """Raises `CallError` and nothing else. Follows no redirect, and sends nothing twice.

    A request is given up when nothing comes back for `answer_seconds`.
    """

    def __init__(
        self, place: GraphPlace, *, proxy: str | None = None, answer_seconds: float = READ_SECONDS
    ) -> None:
        self._place = place
        self._proxy = proxy
        self._answer_seconds = answer_seconds
        self._transport: httpx.AsyncBaseTransport | None = None

    @property
    def place(self) -> GraphPlace:
        """Where it is."""
        return self._place

    async def about_us(self) -> Mapping[str, Any]:
        """What Meta tells of our number."""
        return await self._json("GET", f"{self._place.number}?fields=id,display_phone_number,verified_name")

    async def post_message(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Hand over a message, or a notice that one was read."""
        try:
            content = orjson.dumps(message)
        except orjson.JSONEncodeError as exc:
            raise NotSent(f"a message that is no JSON: {type(exc).__name__}") from None
        return await self._json(
            "POST", f"{self._place.number}/messages", {"Content-Type": "application/json"}, content
        )

    async def post_file(
        self, stream: AsyncIterator[bytes], *, content_type: str, length: int
    ) -> Mapping[str, Any]:
        """Upload a file; `stream` gives the whole form, `length` bytes of it."""
        headers = {"Content-Type": content_type, "Content-Length": str(length)}
        return await self._json("POST", f"{self._place.number}/media", headers, stream)

    async def about_file(self, media: str) -> Mapping[str, Any]:
        """What Meta tells of a file: where it is for some minutes, its type and its size."""
        return await self._json("GET", self._place.address(media))

    @asynccontextmanager
    async def download(self, url: str) -> AsyncGenerator[tuple[Mapping[str, str], AsyncIterator[bytes]]]:
        """The headers and the bytes at an address that may be given our token."""
        async with self._exchange("GET", url, {"Accept-Encoding": "identity"}) as response:
            if response.status_code != 200:
                body = await _whole(response)
                refusal = read_refusal(response.status_code, response.headers, body)
                raise refusal if isinstance(refusal, Refused) else Refused(status=response.status_code)
            yield response.headers, _pieces(response)

    async def aclose(self) -> None:
        """Close every connection."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _json(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> Mapping[str, Any]:
        async with self._exchange(method, url, headers or {}, content) as response:
            body = await _whole(response)
            if not 200 <= response.status_code <= 299:
                raise read_refusal(response.status_code, response.headers, body)
        try:
            answer = orjson.loads(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or "error" in answer:
            raise read_refusal(200, response.headers, body)
        return answer

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> AsyncGenerator[httpx.Response]:
        timeout = httpx.Timeout(
            read=self._answer_seconds, write=WRITE_SECONDS, connect=CONNECT_SECONDS, pool=POOL_SECONDS
        )
        try:
            request = httpx.Request(
                method,
                url,
                headers={"Authorization": f"Bearer {self._place.access_token}", **headers},
                content=content,
                extensions={"timeout": timeout.as_dict()},
            )
            response = await self._open().handle_async_request(request)
        except UnusableProxy as exc:
            raise NotSent(str(exc)) from exc
        except NOT_LEFT as exc:
            raise NotSent(type(exc).__name__) from exc
        except httpx.HTTPError as exc:
            raise NoAnswer(type(exc).__name__) from exc
        try:
            yield response
        finally:
            await response.aclose()

    def _open(self) -> httpx.AsyncBaseTransport:
        if self._transport is None:
            self._transport = open_transport(
                connections=MAX_CALLS,
                idle_seconds=IDLE_SECONDS,
                tls=httpx.create_ssl_context,
                proxy=self._proxy,
            )
        return self._transport


async def _whole(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in _pieces(response):
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise NoAnswer("an answer that is too long")
    return bytes(body)


async def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in response.aiter_raw():
            yield piece
    except (httpx.HTTPError, httpx.StreamError) as exc:
        raise NoAnswer(type(exc).__name__) from exc

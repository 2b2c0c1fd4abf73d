"""The HTTP client under the SDK and the SDK on top of it. Imports both, so it is loaded late."""

import base64
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.request import getproxies

import httpx
import orjson
from openai import AsyncOpenAI, AsyncStream, Omit
from typing_extensions import override

from fermix.infrastructure.http_client.transport import PooledTransport
from fermix.infrastructure.providers.openai.bounds import BOUNDS
from fermix.infrastructure.providers.openai.endpoint import Endpoint
from fermix.infrastructure.providers.openai.foreign import JsonObject, well_formed
from fermix.infrastructure.providers.openai.inquiry import Inquiry, worked_out

if TYPE_CHECKING:
    import httpx2

MAX_CONNECTIONS = 16
"""httpx grows dearer per call with what is open at once; this is also the number of turns at a time."""
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 15.0
_LOOPBACK = ("all://127.0.0.1", "all://localhost", "all://[::1]")
_OUR_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)


def build_http_client(timeout_seconds: float) -> httpx.AsyncClient:
    """A client of our own: bounded, with a limit on every wait, through the proxy of the environment.

    Redirects are not followed, so that a key never travels to an address nobody configured. Loopback addresses
    never go through a proxy.

    Args:
        timeout_seconds: limit between two bytes of an answer, for sending, and for a free connection.

    Raises:
        OSError: the certificate file that the environment names cannot be read.
        ValueError, httpx.InvalidURL: the proxy that the environment names is none.
        ImportError: it is a SOCKS proxy and support for those is not installed.
    """
    # At its lowest level the transport logs the headers of replies, and a server may send the key back in one.
    logging.getLogger("httpcore").setLevel(logging.INFO)
    transport = None
    if not getproxies():
        certificates = httpx.create_ssl_context()  # here and not at the first request: this runs in a thread
        transport = PooledTransport(
            connections=MAX_CONNECTIONS, idle_seconds=_IDLE_SECONDS, tls=lambda: certificates
        )
    return httpx.AsyncClient(
        transport=transport,
        timeout=httpx.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
        limits=httpx.Limits(
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
        ),
        mounts=dict.fromkeys(_LOOPBACK) if transport is None else None,
        trust_env=True,
        follow_redirects=False,
        event_hooks={"request": [_keep_our_headers], "response": [_bound_error_body]},
    )


class ProviderClient:
    """Sends one request at a time per call and hands out the reply unread. Never retries."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._http = build_http_client(timeout_seconds)
        self._sdk: AsyncOpenAI | None = None
        self._sdk_endpoint: Endpoint | None = None

    @asynccontextmanager
    async def reply(self, endpoint: Endpoint, inquiry: Inquiry) -> AsyncGenerator[httpx.Response]:
        """Send a request and yield the reply once its headers are there; leaving closes it.

        Raises:
            openai.OpenAIError, httpx.HTTPError and others: see `errors.FAULTS`.
        """
        # The SDK's typed `create` would read events into its models and fail on servers that deviate.
        content = await worked_out(partial(_encoded, inquiry.body), heavy=inquiry.shows_pictures)
        try:
            answer = await self._for(endpoint).post(
                inquiry.path,
                cast_to=httpx.Response,
                content=content,
                stream=True,
                stream_cls=AsyncStream[object],
                options={"headers": _headers(endpoint)},
            )
        except UnicodeError as exc:
            raise httpx.InvalidURL("the address cannot be encoded") from exc
        response = cast("httpx.Response", answer)
        try:
            yield response
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def _for(self, endpoint: Endpoint) -> AsyncOpenAI:
        if self._sdk is None or endpoint != self._sdk_endpoint:
            self._sdk = AsyncOpenAI(
                # Blank texts, not `None`: for those the SDK would look into the environment.
                api_key="",
                admin_api_key="",
                organization="",
                project="",
                webhook_secret="",
                base_url=_without_user(endpoint.base_url or ""),
                max_retries=0,
                # Given once more: the SDK takes a client's timeout that equals httpx's default for none at all.
                timeout=cast("httpx2.Timeout", self._http.timeout),
                http_client=cast("httpx2.AsyncClient", self._http),
            )
            self._sdk_endpoint = endpoint
        return self._sdk


def _encoded(body: JsonObject) -> bytes:
    """The body as JSON; the SDK's own encoder takes longer over a long history than its commit."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # A number beyond 64 bits in the schema of a tool, or half of a surrogate pair in a model's thought.
        return well_formed(json.dumps(body, ensure_ascii=False)).encode()


def _without_user(base_url: str) -> str:
    """The address without user and password: the HTTP client logs addresses."""
    return str(httpx.URL(base_url).copy_with(userinfo=b""))


def _headers(endpoint: Endpoint) -> dict[str, str | Omit]:
    headers: dict[str, str | Omit] = {
        "Accept": "text/event-stream",
        "Content-Type": "application/json",
        "Authorization": _authorization(endpoint),
    }
    if httpx.URL(endpoint.base_url or "").scheme == "http":
        # llama.cpp's server closes a connection a moment after a stream without saying so, and the next request
        # on it is lost. Unencrypted servers are near: a new connection costs a fraction of a millisecond.
        headers["Connection"] = "close"
    return headers


def _authorization(endpoint: Endpoint) -> str | Omit:
    if endpoint.api_key is not None and endpoint.api_key.text.strip():
        return f"Bearer {endpoint.api_key.text.strip()}"
    url = httpx.URL(endpoint.base_url or "")
    if url.userinfo:
        pair = f"{url.username}:{url.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"
    return Omit()


async def _keep_our_headers(request: httpx.Request) -> None:
    """Drop what the SDK adds: machine details, and headers that it takes from environment variables."""
    for name in list(request.headers):
        if name.lower() not in _OUR_HEADERS:
            del request.headers[name]


async def _bound_error_body(response: httpx.Response) -> None:
    """The SDK reads the body of an error whole, so an endless one has to end here."""
    if response.is_error and isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Bounded(response.stream, BOUNDS.error_bytes)


class _Bounded(httpx.AsyncByteStream):
    """The first bytes of a stream."""

    def __init__(self, stream: httpx.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._left = limit

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk[: self._left]
            self._left -= len(chunk)
            if self._left <= 0:
                return

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()

"""The library's HTTP, straight over a connection pool: no line of any log ever sees an address with the token."""

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import orjson
from telegram.request import BaseRequest, RequestData
from typing_extensions import override

from fermix.infrastructure.channels.telegram.errors import NoAnswer, NotSent, read_refusal
from fermix.infrastructure.channels.telegram.multipart import Multipart, Upload
from fermix.infrastructure.http_client.opening import NOT_LEFT, UnusableProxy, open_transport

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
WRITE_SECONDS = 15.0
POOL_SECONDS = 5.0
IDLE_SECONDS = 30.0
"""How long an unused connection is kept: one that the server closes as it is used makes an outcome unknown."""

MAX_ANSWER_BYTES = 32 * 1024 * 1024


class PooledRequest(BaseRequest):
    """Requests over connections of its own, at most `connections` at once.

    Opened by its first request or as a context manager; closing it breaks what is under way. Raises `CallError`
    and nothing else.
    """

    def __init__(
        self, *, connections: int, tls: Callable[[], ssl.SSLContext], proxy: str | None = None
    ) -> None:
        self._proxy = proxy
        self._connections = connections
        self._tls = tls
        self._transport: httpx.AsyncBaseTransport | None = None

    @property
    @override
    def read_timeout(self) -> float:
        return READ_SECONDS

    @override
    async def initialize(self) -> None:
        self._open()

    @override
    async def shutdown(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    @override
    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        timeout = httpx.Timeout(
            read=_seconds(read_timeout, READ_SECONDS),
            write=_seconds(write_timeout, WRITE_SECONDS),
            connect=_seconds(connect_timeout, CONNECT_SECONDS),
            pool=_seconds(pool_timeout, POOL_SECONDS),
        )
        headers, content = _body_of(request_data)
        request = httpx.Request(
            method,
            url,
            headers={"User-Agent": self.USER_AGENT, **headers},
            content=content,
            extensions={"timeout": timeout.as_dict()},
        )
        status, body = await self._exchange(request)
        if not 200 <= status <= 299:
            raise read_refusal(status, body)
        return status, body

    @staticmethod
    @override
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        answer = _loads(payload)
        if not isinstance(answer, dict) or answer.get("ok") is not True or "result" not in answer:
            raise read_refusal(200, payload)
        return answer

    @asynccontextmanager
    async def download(self, url: str) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes behind an address, piece by piece; it leads nowhere else. Raises `CallError`."""
        timeout = httpx.Timeout(
            read=READ_SECONDS, write=WRITE_SECONDS, connect=CONNECT_SECONDS, pool=POOL_SECONDS
        )
        request = httpx.Request(
            "GET",
            url,
            headers={"User-Agent": self.USER_AGENT, "Accept-Encoding": "identity"},
            extensions={"timeout": timeout.as_dict()},
        )
        response = await self._ask(request)
        try:
            if response.status_code != httpx.codes.OK:
                raise read_refusal(response.status_code, await _whole(response))
            async with aclosing(_pieces(response)) as pieces:
                yield pieces
        finally:
            await response.aclose()

    async def _exchange(self, request: httpx.Request) -> tuple[int, bytes]:
        response = await self._ask(request)
        try:
            body = await _whole(response)
        finally:
            await response.aclose()
        return response.status_code, body

    async def _ask(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._open().handle_async_request(request)
        except UnusableProxy as exc:
            raise NotSent(str(exc)) from exc
        except NOT_LEFT as exc:
            raise NotSent(type(exc).__name__) from exc
        except httpx.HTTPError as exc:
            raise NoAnswer(type(exc).__name__) from exc

    def _open(self) -> httpx.AsyncBaseTransport:
        if self._transport is None:
            self._transport = open_transport(
                connections=self._connections, idle_seconds=IDLE_SECONDS, tls=self._tls, proxy=self._proxy
            )
        return self._transport


def _body_of(data: RequestData | None) -> tuple[dict[str, str], bytes | AsyncIterator[bytes]]:
    """The headers and the body of a call: JSON, or with its one file as multipart."""
    if data is None or not data.contains_files:
        try:
            content = orjson.dumps(data.parameters if data else {})
        except orjson.JSONEncodeError as exc:
            raise NotSent(f"parameters that are no JSON: {exc}") from exc
        return {"Content-Type": "application/json"}, content
    ((field, (name, upload, mime_type)),) = data.multipart_data.items()
    if not isinstance(upload, Upload):
        raise NotSent("a file that is not from the store")
    body = Multipart(
        parameters=data.json_parameters, field=field, file_name=name, mime_type=mime_type, upload=upload
    )
    return {"Content-Type": body.content_type, "Content-Length": str(body.length)}, body.stream()


async def _pieces(response: httpx.Response) -> AsyncGenerator[bytes]:
    try:
        async for piece in response.aiter_raw():
            yield piece
    except (httpx.HTTPError, httpx.StreamError) as exc:
        raise NoAnswer(type(exc).__name__) from exc


async def _whole(response: httpx.Response) -> bytes:
    body = bytearray()
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise NoAnswer("an answer that is too long")
    except (httpx.HTTPError, httpx.StreamError) as exc:
        raise NoAnswer(type(exc).__name__) from exc
    return bytes(body)


def _seconds(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def _loads(payload: bytes) -> object:
    try:
        return orjson.loads(payload)
    except ValueError:
        pass
    try:
        # Half of a surrogate pair in one message must not take the whole answer with it.
        return json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as exc:
        raise NoAnswer("an answer that is no JSON") from exc

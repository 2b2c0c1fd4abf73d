"""discord.py's methods of the REST API, over requests of our own: each is made once and says truly how it ended.

The library's own requests are made up to five times and wait out refusals inside; here the outbox is what sends
again. Nothing of a request or an answer is written to a log.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import orjson
from discord import File
from discord.http import HTTPClient, Route
from discord.utils import MISSING
from typing_extensions import override

from fermix.application.ports.clock import Clock
from fermix.infrastructure.channels.discord.errors import (
    DEFAULT_WAIT_SECONDS,
    NoAnswer,
    NotSent,
    Refused,
    TooSoon,
    read_refusal,
)
from fermix.infrastructure.channels.discord.limits import Lane, RateLimits
from fermix.infrastructure.channels.discord.multipart import Multipart
from fermix.infrastructure.http_client.opening import NOT_LEFT, UnusableProxy, open_transport

MAX_CALLS = 16
"""Calls under way at once: more only make each of them slower."""

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
WRITE_SECONDS = 15.0
POOL_SECONDS = 5.0
IDLE_SECONDS = 30.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024

DISCORD = "discord.com"
FILE_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
"""Where Discord keeps attachments; https://discord.com/developers/docs/reference#signed-attachment-cdn-urls."""

_log = logging.getLogger("fermix.discord")


class Requests:
    """Requests with one bot's token, over at most `MAX_CALLS` connections. Raises `CallError` and nothing else.

    `root` is the address that paths follow, `…/api/v10`; a call is given up when nothing comes back for
    `answer_seconds`.
    """

    def __init__(
        self,
        *,
        token: str,
        root: str,
        clock: Clock,
        proxy: str | None = None,
        answer_seconds: float = READ_SECONDS,
    ) -> None:
        self.token = token
        self.proxy = proxy
        self._root = root.rstrip("/")
        self._clock = clock
        self._limits = RateLimits()
        self._transport: httpx.AsyncBaseTransport | None = None
        self._timeout = httpx.Timeout(
            read=answer_seconds, write=WRITE_SECONDS, connect=CONNECT_SECONDS, pool=POOL_SECONDS
        )

    async def do(self, route: Route, request: httpx.Request) -> Any:
        """What the answer holds; an empty text where it holds nothing."""
        lane = Lane(route=route.key, about=route.major_parameters)
        wait = self._limits.wait(lane, now=self._clock.monotonic())
        if wait > 0:
            raise TooSoon(wait)
        response, body = await self._exchange(request)
        headers = {name.lower(): value for name, value in response.headers.items()}
        now = self._clock.monotonic()
        self._limits.note(lane, headers, now=now)
        if 200 <= response.status_code <= 299:
            return _read(body)
        refusal = read_refusal(response.status_code, headers, body)
        if isinstance(refusal, Refused) and refusal.status == 429:
            seconds = DEFAULT_WAIT_SECONDS if refusal.retry_after is None else refusal.retry_after
            self._limits.refused(lane, seconds, is_global=refusal.is_global, now=now)
            _log.warning(
                "discord.rate_limited",
                extra={"call": route.key, "seconds": seconds, "global": refusal.is_global},
            )
        raise refusal

    def request(self, route: Route, *, agent: str, **content: Any) -> httpx.Request:
        """The request of a route; `content` as httpx takes it (`content`, `params`, `data`, `files`)."""
        headers = {"User-Agent": agent, "Authorization": f"Bot {self.token}", **content.pop("headers", {})}
        address = self._root + route.url.removeprefix(Route.BASE)
        return httpx.Request(
            route.method, address, headers=headers, extensions={"timeout": self._timeout.as_dict()}, **content
        )

    def holds_files(self, address: str) -> bool:
        """Whether Discord keeps files there: on its own hosts, or on those of the server that stands in for it."""
        try:
            url = httpx.URL(address)
        except httpx.InvalidURL:
            return False
        root = httpx.URL(self._root)
        if root.host == DISCORD:
            return url.scheme == "https" and url.host in FILE_HOSTS and url.port is None
        return (url.scheme, url.host, url.port) == (root.scheme, root.host, root.port)

    @asynccontextmanager
    async def file(self, address: str) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes at an address, piece by piece; without the token, and following nobody elsewhere."""
        request = httpx.Request("GET", address, extensions={"timeout": self._timeout.as_dict()})
        response = await self._ask(request)
        try:
            if response.status_code != 200:
                raise Refused(response.status_code)
            async with aclosing(_pieces(response)) as pieces:
                yield pieces
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close idle connections now and busy ones after their call; whoever calls again opens others."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _exchange(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        response = await self._ask(request)
        try:
            body = bytearray()
            async with aclosing(_pieces(response)) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MAX_ANSWER_BYTES:
                        raise NoAnswer("an answer that is too long")
        finally:
            await response.aclose()
        return response, bytes(body)

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
                connections=MAX_CALLS,
                idle_seconds=IDLE_SECONDS,
                tls=httpx.create_ssl_context,
                proxy=self.proxy,
            )
        return self._transport


async def _pieces(response: httpx.Response) -> AsyncGenerator[bytes]:
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except (httpx.HTTPError, httpx.StreamError) as exc:
        raise NoAnswer(type(exc).__name__) from exc


def _read(body: bytes) -> Any:
    if not body:
        return ""
    answer, readable = None, True
    try:
        answer = orjson.loads(body)
    except ValueError:
        readable = False
    if not readable:  # raised out here, since the parser's error holds the answer's own words
        raise NoAnswer("an answer that is no JSON")
    return answer


class RestClient(HTTPClient):
    """The library's REST methods; see the module. Raises `CallError`, except while logging in.

    Only the one that a gateway connection was made with holds anything that must be closed.
    """

    def __init__(self, requests: Requests) -> None:
        super().__init__(MISSING, proxy=requests.proxy)
        self._requests = requests

    @property
    def bot_token(self) -> str:
        """What the bot proves with who it is."""
        return self._requests.token

    @override
    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,  # the library's; ours leave by `send_file`
        form: Iterable[dict[str, Any]] | None = None,  # see above
        **kwargs: Any,
    ) -> Any:
        """One call, made once.

        Raises:
            NotSent: it did not leave.
            NoAnswer: nobody knows.
            Refused: the server said no.
        """
        content: dict[str, Any] = {}
        if "json" in kwargs:
            content["content"] = _json(kwargs["json"])
            content["headers"] = {"Content-Type": "application/json"}
        if "params" in kwargs:
            content["params"] = {name: str(value) for name, value in kwargs["params"].items()}
        return await self._requests.do(route, self._requests.request(route, agent=self.user_agent, **content))

    async def send_file(self, chat: int, body: Multipart) -> Any:
        """A message with a file; the file's store may raise errors of its own, and then nothing was sent."""
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=chat)
        async with aclosing(body.stream()) as stream:
            request = self._requests.request(
                route, agent=self.user_agent, content=stream, headers=body.headers
            )
            return await self._requests.do(route, request)

    async def gateway_address(self) -> str:
        """Where the gateway is.

        Raises:
            TooSoon: this bot may not begin another session today.
            NoAnswer: the answer names none.
        """
        answer = await self.request(Route("GET", "/gateway/bot"))
        if not isinstance(answer, Mapping) or not isinstance(answer.get("url"), str):
            raise NoAnswer("an answer that names no gateway")
        starts = answer.get("session_start_limit")
        if isinstance(starts, Mapping) and starts.get("remaining") == 0:
            reset = starts.get("reset_after")
            raise TooSoon(reset / 1000 if isinstance(reset, int) else DEFAULT_WAIT_SECONDS)
        return str(answer["url"])


def _json(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as exc:
        raise NotSent("a call that is no JSON") from exc

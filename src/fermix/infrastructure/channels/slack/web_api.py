"""Slack's Web API, by its own client: no call is made twice, and every error says whether the request left."""

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
import anyio.lowlevel
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from fermix.infrastructure.channels.slack.errors import NoAnswer, NotSent, Refused, read_refusal

MAX_CALLS = 16
"""Requests under way at once."""

MAX_FILES = 4
"""Files that are moved at once, beside the calls."""

CONNECT_SECONDS = 10.0
POOL_SECONDS = 15.0
READ_SECONDS = 30.0
IDLE_SECONDS = 30.0
"""How long an unused connection is kept: one that the server closes as it is used makes an outcome unknown."""

HEARTBEAT_SECONDS = 15.0
"""How often a line is asked whether it still stands."""

MAX_CALL_BYTES = 1024 * 1024
MAX_REDIRECTS = 3
_TURNS_TO_NOTICE = 3
_PIECE_BYTES = 65_536
_MAX_REFUSAL_BYTES = 65_536

OUR_HOSTS = (".slack.com", ".slack-files.com", ".slack-gov.com")
"""Where Slack keeps files; our token is shown to nobody else, and no file of ours goes elsewhere."""

_NOT_LEFT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_ODD_ANSWER = (AttributeError, ValueError, RecursionError)
"""What the client trips over when an answer is no object."""

library_log = logging.getLogger("fermix.slack.library")
library_log.setLevel(logging.CRITICAL)  # below that the libraries write down texts, and where a proxy is


class SlackApi:
    """Raises `CallError` and nothing else. A call is given up when nothing comes back for `answer_seconds`.

    `root` is the address that `/<method>` follows. Everything here belongs to one event loop.
    """

    def __init__(
        self, *, token: str, root: str, proxy: str | None = None, answer_seconds: float = READ_SECONDS
    ) -> None:
        self._root = root.rstrip("/")
        self._token = token
        self._proxy = proxy
        self._answer_seconds = answer_seconds
        self._calling: aiohttp.ClientSession | None = None
        self._moving: aiohttp.ClientSession | None = None
        self._client = self._client_with(token)

    async def call(self, method: str, **parameters: object) -> Mapping[str, Any]:
        """The answer of a method that takes JSON."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return await self._call(method, self._client, json=given)

    async def ask(self, method: str, **parameters: str) -> Mapping[str, Any]:
        """The answer of a method that takes a form."""
        return await self._call(method, self._client, data=parameters)

    async def upload(self, url: str, content: AsyncIterator[bytes], *, size: int) -> None:
        """Send the bytes of a file to the address that Slack named for it; exactly `size` of them."""
        if not self._is_slacks(url):
            raise Refused(status=400, code="foreign_upload_address")
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        try:
            async with self._files().post(
                url, data=content, headers=headers, proxy=self._proxy, allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise Refused(status=response.status)
        except _NOT_LEFT as exc:
            raise NotSent(type(exc).__name__) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise NoAnswer(type(exc).__name__) from None

    @asynccontextmanager
    async def download(self, url: str) -> AsyncGenerator[tuple[Mapping[str, str], AsyncIterator[bytes]]]:
        """The headers and the bytes of a file; followed from one host of Slack's to another, and to no other."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept-Encoding": "identity"}
        for _ in range(MAX_REDIRECTS + 1):
            if not self._is_slacks(url):
                raise Refused(status=400, code="foreign_file_address")
            try:
                response = await self._files().get(
                    url, headers=headers, proxy=self._proxy, allow_redirects=False
                )
            except _NOT_LEFT as exc:
                raise NotSent(type(exc).__name__) from None
            except (aiohttp.ClientError, TimeoutError, OSError) as exc:
                raise NoAnswer(type(exc).__name__) from None
            async with response:
                if response.status == 200:
                    yield response.headers, _pieces(response)
                    return
                if not 300 <= response.status <= 399 or "Location" not in response.headers:
                    raise Refused(status=response.status)
                url = urljoin(url, response.headers["Location"])
        raise Refused(status=400, code="too_many_redirects")

    @asynccontextmanager
    async def socket(self, app_token: str) -> AsyncGenerator[aiohttp.ClientWebSocketResponse]:
        """A line over which Slack makes its calls, opened with the token of the app."""
        opened = await self._call("apps.connections.open", self._client_with(app_token))
        url = str(opened.get("url"))
        if not self._is_slacks(re.sub("^ws", "http", url)):
            raise Refused(status=400, code="foreign_socket_address")
        try:
            line = await self._calls().ws_connect(
                url, proxy=self._proxy, heartbeat=HEARTBEAT_SECONDS, max_msg_size=MAX_CALL_BYTES
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise NotSent(type(exc).__name__) from None
        async with line:
            yield line

    async def aclose(self) -> None:
        """Close every connection."""
        for session in (self._calling, self._moving):
            if session is not None:
                await session.close()
        self._calling = self._moving = None

    def _client_with(self, token: str) -> AsyncWebClient:
        client = AsyncWebClient(
            token=token, base_url=f"{self._root}/", proxy=self._proxy, logger=library_log, retry_handlers=[]
        )
        client.proxy = self._proxy  # where none is named the library looks for one in the environment
        return client

    async def _call(
        self,
        method: str,
        client: AsyncWebClient,
        *,
        json: dict[str, object] | None = None,
        data: dict[str, str] | None = None,
    ) -> Mapping[str, Any]:
        client.session = self._calls()
        await _look_at_lines()
        try:
            answer = await client.api_call(method, json=json, data=data)
            told = answer.data
        except SlackApiError as exc:
            raise _read(exc) from None
        except _NOT_LEFT as exc:
            raise NotSent(type(exc).__name__) from None
        except (aiohttp.ClientError, SlackClientError, TimeoutError, OSError, *_ODD_ANSWER) as exc:
            raise NoAnswer(type(exc).__name__) from None
        if not isinstance(told, dict):
            raise NoAnswer("an answer that is no object")
        return told

    def _calls(self) -> aiohttp.ClientSession:
        if self._calling is None:
            self._calling = self._session(MAX_CALLS)
        return self._calling

    def _files(self) -> aiohttp.ClientSession:
        if self._moving is None:
            self._moving = self._session(MAX_FILES)
        return self._moving

    def _session(self, connections: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=POOL_SECONDS,
                sock_connect=CONNECT_SECONDS,
                sock_read=self._answer_seconds,
            ),
        )

    def _is_slacks(self, url: str) -> bool:
        try:
            parts, own = urlsplit(url), urlsplit(self._root)
            same = (parts.scheme, parts.hostname, parts.port) == (own.scheme, own.hostname, own.port)
            usual = parts.scheme == "https" and parts.port in {None, 443}
        except ValueError:
            return False
        return same or (usual and f".{parts.hostname or ''}".endswith(OUR_HOSTS))


async def _look_at_lines() -> None:
    """Let the loop notice which idle lines were closed: a call on one of them has an unknown outcome."""
    for _ in range(_TURNS_TO_NOTICE):
        await anyio.lowlevel.checkpoint()


def _read(exc: SlackApiError) -> Refused | NoAnswer:
    """What the client's error tells; its own text repeats the answer."""
    response = exc.response
    if not isinstance(response, AsyncSlackResponse):
        return NoAnswer("an answer that cannot be read")
    return read_refusal(response.status_code, response.headers, response.data)


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for piece in response.content.iter_chunked(_PIECE_BYTES):
            yield piece
    except (aiohttp.ClientError, TimeoutError, OSError) as exc:
        raise NoAnswer(type(exc).__name__) from None

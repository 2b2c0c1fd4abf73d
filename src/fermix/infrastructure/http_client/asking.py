"""One question to a JSON service, to see whether it knows us; asked once, and no redirect is followed."""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import anyio
import httpx
import orjson

MAX_BYTES = 256 * 1024
"""Of an answer; more is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked; address and headers may hold a credential."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back.

    Attributes:
        status: of HTTP.
        body: the JSON object; empty when it was none.
    """

    status: int
    body: Mapping[str, object] = field(repr=False)


class NotReached(Exception):
    """No answer came; the text says why, without the address."""


async def ask(question: Question, *, seconds: float, proxy: str | None = None) -> Reply:
    """Ask, and wait for the whole answer so long.

    Raises:
        NotReached: there was none.
    """
    why = "no answer within " + f"{seconds:g} s"
    try:
        with anyio.fail_after(seconds):
            return await _asked(question, proxy)
    except TimeoutError:
        pass
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError) as exc:
        # The words of the error may repeat the address, or that of a proxy with its password.
        why = _why(exc)
    raise NotReached(why)


async def _asked(question: Question, proxy: str | None) -> Reply:
    content = b""
    async with (
        httpx.AsyncClient(timeout=None, trust_env=False, proxy=proxy) as client,  # noqa: S113 - limited above
        client.stream(question.method, question.url, headers=question.headers) as response,
    ):
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > MAX_BYTES:
                break
    try:
        body = orjson.loads(content)
    except ValueError:
        body = None
    return Reply(status=response.status_code, body=body if isinstance(body, dict) else {})


def _why(error: Exception) -> str:
    if isinstance(error, httpx.ConnectError):
        unknown = any(isinstance(cause, socket.gaierror) for cause in _causes(error))
        return "its name could not be looked up" if unknown else "no connection could be made"
    if isinstance(error, httpx.ProxyError):
        return "the proxy refused"
    if isinstance(error, httpx.HTTPError):
        return "the connection broke before an answer came"
    return "its address, or that of the proxy, cannot be used"


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__

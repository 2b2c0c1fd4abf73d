from collections.abc import Sequence

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from fermix.infrastructure.http.guards import BodyLimited

pytestmark = pytest.mark.anyio


async def _length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _post(
    limited: BodyLimited, chunks: Sequence[bytes], *, headers: Sequence[tuple[bytes, bytes]] = ()
) -> tuple[int, bytes, int]:
    """Status, body, and how many chunks were read; after the last chunk nothing more ever comes."""
    sent: list[Message] = []
    read = 0

    async def receive() -> Message:
        nonlocal read
        if read == len(chunks):
            await anyio.sleep_forever()
        read += 1
        return {"type": "http.request", "body": chunks[read - 1], "more_body": chunks[read - 1] != b""}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": list(headers)}
    with anyio.fail_after(5):
        await limited(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]), read


def _limited(**limits: float) -> BodyLimited:
    app = Starlette(routes=[Route("/", _length, methods=["POST"])])
    return BodyLimited(app=app, max_bytes=10, max_seconds=limits.get("seconds", 30))


async def test_a_body_up_to_the_limit_arrives() -> None:
    assert await _post(_limited(), [b"12345", b"67890", b""]) == (200, b"10", 3)


async def test_an_announced_body_over_the_limit_is_not_read() -> None:
    status, body, read = await _post(_limited(), [b"x" * 11, b""], headers=[(b"content-length", b"11")])

    assert (status, read) == (413, 0)
    assert b"at most 10 bytes" in body


async def test_a_body_that_grows_over_the_limit_is_read_no_further() -> None:
    status, _, read = await _post(_limited(), [b"123456", b"123456", b"123456", b""])

    assert (status, read) == (413, 2)


async def test_a_body_that_does_not_end_in_time_is_refused() -> None:
    status, body, _ = await _post(_limited(seconds=0.01), [b"1"])

    assert (status, body) == (408, b"The body did not arrive in time.")

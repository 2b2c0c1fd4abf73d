"""One streamed request from sending to its end. Imports the SDK, so it is loaded late."""

import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import anyio
import httpx

from fermix.application.ports.model import ModelAnswer
from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.openai.bounds import BOUNDS
from fermix.infrastructure.providers.openai.client import ProviderClient
from fermix.infrastructure.providers.openai.endpoint import Endpoint
from fermix.infrastructure.providers.openai.errors import FAULTS, described, refusal_from_exception
from fermix.infrastructure.providers.openai.foreign import as_object, parsed
from fermix.infrastructure.providers.openai.inquiry import Assembly, Inquiry, Listener
from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError, Refusal, broken
from fermix.infrastructure.providers.openai.replies import refusal_from_stream
from fermix.infrastructure.providers.openai.sse import Event, SseDecoder

_TAIL_SECONDS = 5.0
"""How long token counts may follow a finished answer, on servers that send no end mark."""
_CLOSING_SECONDS = 0.2
"""How long the end of the body may follow the end mark; reading it keeps the connection usable."""


def open_client(timeout_seconds: float) -> ProviderClient | Refusal:
    """The client that `stream_answer` wants, or why none can be opened."""
    try:
        return ProviderClient(timeout_seconds=timeout_seconds)
    except (OSError, ValueError, ImportError, httpx.InvalidURL):
        # The error's words are not passed on: the address of a proxy may hold a password.
        return Refusal(
            kind=FailureKind.UNREACHABLE,
            detail="the proxy or certificates that the environment names cannot be used",
        )


async def stream_answer(
    client: ProviderClient, endpoint: Endpoint, inquiry: Inquiry, listener: Listener
) -> ModelAnswer | tuple[Refusal, str]:
    """Ask and read to the end.

    Returns:
        The answer, or why there is none together with the operator's cause (unredacted).
    """
    assembly = inquiry.assemble()
    answering = False
    try:
        async with client.reply(endpoint, inquiry) as response:
            answering = True
            await _read(response, assembly, listener)
        return assembly.answer()
    except FAULTS as exc:
        if assembly.finished and isinstance(exc, httpx.HTTPError):
            # All of the answer was there before the line broke.
            return assembly.answer()
        return refusal_from_exception(exc, answering=answering), described(exc)


async def _read(response: httpx.Response, assembly: Assembly, listener: Listener) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in {"application/json", "text/html"}:
        await _refuse_unstreamed(response, kind)
    decoder = SseDecoder()
    with anyio.CancelScope() as tail:
        # httpx promises an iterator and gives a generator, which has to be closed in this task.
        chunks = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
        async with aclosing(chunks):
            async for chunk in chunks:
                _take(decoder.feed(chunk), assembly, listener)
                _limit(tail, assembly)
        _take(decoder.finish(), assembly, listener)
    if not assembly.finished:
        raise broken("the stream ended before the answer was finished")


def _take(events: list[Event], assembly: Assembly, listener: Listener) -> None:
    for event in events:
        if assembly.done:
            return
        text = assembly.take(event)
        for thought in assembly.thoughts():
            if listener.on_thought is not None:
                listener.on_thought(thought)
        if text:
            listener.on_text(text)


def _limit(tail: anyio.CancelScope, assembly: Assembly) -> None:
    if assembly.done:
        tail.deadline = min(tail.deadline, anyio.current_time() + _CLOSING_SECONDS)
    elif assembly.finished and math.isinf(tail.deadline):
        tail.deadline = anyio.current_time() + _TAIL_SECONDS


async def _refuse_unstreamed(response: httpx.Response, kind: str) -> None:
    """Raise for a 200 that is no stream: an error object, or something that is no provider at all."""
    if kind == "text/html":
        raise broken("a web page answered instead of a provider, base_url may be wrong")
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > BOUNDS.error_bytes:
            break
    value = as_object(parsed(body.decode("utf-8", "replace")))
    if value.get("error"):
        raise AnswerRefusedError(refusal_from_stream(value))
    raise broken("the server did not stream its answer")

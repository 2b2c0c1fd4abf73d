"""A check of the transcribers' suite, and short ways to ask."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

import anyio

from fermix.application.ports.blobs import BlobError, Blobs
from fermix.application.ports.transcription import Audio, Transcript, TranscriptionError
from fermix.testing.checks import Check, Run, as_check
from fermix.testing.expectations import PromiseBroken
from fermix.testing.transcriber_harness import OpenTranscriber, TranscriberHarness

TranscriberCheck: TypeAlias = Check[TranscriberHarness]

_PIECE_BYTES = 4096
_LIMIT_BYTES = 64 * 1024 * 1024


def proves(*requirements: str) -> Callable[[Run[TranscriberHarness]], TranscriberCheck]:
    """Make a check of a function; an error of the port that it does not expect breaks its promise."""
    return lambda run: as_check(run, *requirements, broken_by=(TranscriptionError, BlobError))


async def stored(blobs: Blobs, content: bytes) -> Audio:
    """A recording in the store, as the media stage hands it over."""

    async def pieces() -> AsyncGenerator[bytes]:
        for start in range(0, len(content), _PIECE_BYTES):
            yield content[start : start + _PIECE_BYTES]

    async with aclosing(pieces()) as stream:
        blob = await blobs.store(stream, limit=_LIMIT_BYTES)
    return Audio(content=blob, mime_type="audio/ogg", file_name="voice.ogg")


async def ask(opened: OpenTranscriber, content: bytes) -> Transcript:
    """Store a recording and have it transcribed.

    Raises:
        TranscriptionError: there is no transcript.
    """
    return await opened.transcriber.transcribe(await stored(opened.blobs, content))


async def failure_of(opened: OpenTranscriber, content: bytes) -> TranscriptionError | None:
    """How asking failed, if it did."""
    try:
        await ask(opened, content)
    except TranscriptionError as exc:
        return exc
    return None


@asynccontextmanager
async def noticed(harness: TranscriberHarness, about: str) -> AsyncGenerator[None]:
    """What is waited for inside happens while the harness has patience.

    Raises:
        PromiseBroken: it does not.
    """
    with anyio.move_on_after(harness.patience.total_seconds()) as scope:
        yield
    if scope.cancelled_caught:
        raise PromiseBroken(f"{about}: not within {harness.patience}")

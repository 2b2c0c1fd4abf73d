"""Asking a transcription service: once for each recording, and every end sorted by its remedy.

No error carries a word of the service: what it says may repeat the key, or what was spoken.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.transcription import (
    Audio,
    EmptyTranscript,
    TranscriberProfile,
    Transcript,
    TranscriptionError,
    TranscriptionRefused,
    TranscriptionUnavailable,
    UnreadableAudio,
)
from fermix.infrastructure.transcription.limits import AskingLimits, Unreached
from fermix.infrastructure.transcription.wire import Said, Wire, object_in

if TYPE_CHECKING:
    from fermix.infrastructure.transcription.exchange import Exchange

_NOT_OURS_TO_USE = frozenset({401, 402, 403})
_NOT_TO_BE_READ = frozenset({400, 413, 415, 422})


class RemoteTranscriber:
    """The `Transcriber` port over a service. Asks once for each recording, and never again."""

    def __init__(self, wire: Wire, *, blobs: ReadsBlobs, proxy: str | None, limits: AskingLimits) -> None:
        self._wire = wire
        self._blobs = blobs
        self._proxy = proxy
        self._limits = limits
        self._opening = anyio.Lock()
        self._exchange: Exchange | None = None

    @property
    def profile(self) -> TranscriberProfile:
        """See `Transcriber.profile`."""
        return self._wire.profile

    async def transcribe(self, audio: Audio) -> Transcript:
        """See `Transcriber.transcribe`."""
        if audio.content.size_bytes == 0:
            raise UnreadableAudio("the recording is empty")
        failure: TranscriptionError
        try:
            with anyio.fail_after(self._limits.whole):
                status, body = await self._ask(audio)
        except TimeoutError:
            failure = self._unavailable(f"did not answer within {self._limits.whole:g} s")
        except Unreached as exc:
            failure = self._unavailable(f"was not reached, or broke off ({exc})")
        else:
            return self._judge(status, body)
        raise failure

    async def aclose(self) -> None:
        """Close all connections."""
        if self._exchange is not None:
            await self._exchange.aclose()

    async def _ask(self, audio: Audio) -> tuple[int, bytes | None]:
        exchange = await self._opened()
        async with self._blobs.open(audio.content) as pieces:
            return await exchange.ask(self._wire.question(audio), audio.content.size_bytes, pieces)

    async def _opened(self) -> "Exchange":
        """The exchange, with its client library loaded beside the event loop when it is first needed."""
        async with self._opening:
            if self._exchange is None:
                self._exchange = await anyio.to_thread.run_sync(_open, self._proxy, self._limits)
            return self._exchange

    def _judge(self, status: int, body: bytes | None) -> Transcript:
        answer = _parsed(body)
        if status == 200:
            return self._understood(None if answer is None else self._wire.said(answer))
        if status in _NOT_OURS_TO_USE:
            backend = self._wire.profile.backend
            raise TranscriptionRefused(f"{backend} does not take our credential (status {status})")
        if status in _NOT_TO_BE_READ and not self._wire.blames_the_request(object_in(answer)):
            raise UnreadableAudio(f"{self._wire.profile.backend} cannot read the recording (status {status})")
        raise self._unavailable(f"answered with status {status}")

    def _understood(self, said: Said | None) -> Transcript:
        if said is None:
            raise self._unavailable("gave an answer that holds no transcript")
        text = said.text.strip()
        if not text:
            raise EmptyTranscript(f"{self._wire.profile.backend} heard no words")
        return Transcript(text=text, language=said.language)

    def _unavailable(self, what: str) -> TranscriptionUnavailable:
        return TranscriptionUnavailable(f"{self._wire.profile.backend} {what}")


@asynccontextmanager
async def open_remote_transcriber(
    wire: Wire, *, blobs: ReadsBlobs, proxy: str | None = None, limits: AskingLimits | None = None
) -> AsyncGenerator[RemoteTranscriber]:
    """A transcriber over a service for as long as the block lasts. Nothing is opened before the first recording.

    Args:
        wire: which service, spoken to how.
        blobs: the store that holds the recordings.
        proxy: what leads there, where the machine cannot.
        limits: times; the defaults are the product's.
    """
    transcriber = RemoteTranscriber(wire, blobs=blobs, proxy=proxy, limits=limits or AskingLimits())
    try:
        yield transcriber
    finally:
        with anyio.CancelScope(shield=True):
            await transcriber.aclose()


def _open(proxy: str | None, limits: AskingLimits) -> "Exchange":
    from fermix.infrastructure.transcription.exchange import open_exchange  # noqa: PLC0415 - heavy

    return open_exchange(proxy, limits)


def _parsed(body: bytes | None) -> Mapping[str, Any] | None:
    try:
        answer = json.loads(body or b"")
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None

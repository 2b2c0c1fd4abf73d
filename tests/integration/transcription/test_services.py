"""What a transcription service may answer, and what becomes of it; and what goes out to it."""

import gzip
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from fermix.application.ports.blobs import BlobsUnavailable
from fermix.application.ports.transcription import (
    Audio,
    Transcriber,
    TranscriptionError,
    TranscriptionRefused,
    TranscriptionUnavailable,
    UnreadableAudio,
)
from fermix.domain.blob import BlobRef
from fermix.infrastructure.transcription.asking import RemoteTranscriber, open_remote_transcriber
from fermix.infrastructure.transcription.deepgram import DeepgramWire
from fermix.infrastructure.transcription.limits import MAX_ANSWER_BYTES, AskingLimits
from fermix.infrastructure.transcription.openai import OpenAIWire
from fermix.infrastructure.transcription.wire import Service
from fermix.testing.clock import StoppedClock
from fermix.testing.error_texts import texts_of
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.transcription_api.server import TranscriptionServer, transcription_server
from fermix.testing.servers.transcription_api.world import Raw
from fermix.testing.transcriber_checks.check import stored

pytestmark = pytest.mark.anyio
KEY = "k-planted"
RECORDING = b"OggS a recording"


@asynccontextmanager
async def asking(
    server: TranscriptionServer, *, model: str = "gpt-4o-mini-transcribe", key: str = KEY
) -> AsyncGenerator[tuple[RemoteTranscriber, MemoryBlobs]]:
    blobs = MemoryBlobs(clock=StoppedClock())
    service = Service(base_url=server.base_url, api_key=key)
    wire = OpenAIWire(service, model=model)
    async with open_remote_transcriber(wire, blobs=blobs, limits=AskingLimits(whole=20)) as transcriber:
        yield transcriber, blobs


async def outcome(transcriber: Transcriber, audio: Audio) -> TranscriptionError | str:
    try:
        return (await transcriber.transcribe(audio)).text
    except TranscriptionError as exc:
        return exc


@pytest.mark.parametrize(
    "answer",
    [
        Raw(status=200, body=b"<!doctype html><title>Sign in</title>"),
        Raw(status=200, body=b""),
        Raw(status=200, body=b"null"),
        Raw(status=200, body=b'"words"'),
        Raw(status=200, body=b'{"text": 7}'),
        Raw(status=200, body=b'{"text": "words"'),
        Raw(status=200, body=b"[" * 100_000),
        Raw(status=200, body=b"\xff\xfe\x00"),
        Raw(
            status=200,
            body=gzip.compress(b'{"text": "words"}', mtime=0),
            headers={"Content-Encoding": "gzip"},
        ),
        Raw(status=200, body=b'{"text": "' + b"a" * MAX_ANSWER_BYTES + b'"}'),
        Raw(status=204),
        Raw(status=302, headers={"Location": "/elsewhere"}),
        Raw(status=404, body=b"not found"),
        Raw(status=429, headers={"Retry-After": "1"}),
        Raw(status=500, body=b"words of the service"),
        Raw(status=503),
    ],
    ids=lambda answer: f"{answer.status}-{answer.body[:12]!r}",
)
async def test_an_answer_without_a_transcript_is_unavailable_and_asked_for_once(answer: Raw) -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        async with asking(server) as (transcriber, blobs):
            audio = await stored(blobs, RECORDING)
            server.will(answer)
            failed = await outcome(transcriber, audio)
            assert isinstance(failed, TranscriptionUnavailable), failed
            assert "words" not in str(failed)
            assert len(server.recordings) == 1
            assert await outcome(transcriber, audio) == "A recording of 16 bytes."


@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_credential_or_an_account_that_is_not_taken_is_refused(status: int) -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        async with asking(server) as (transcriber, blobs):
            server.will(Raw(status=status, body=json.dumps({"error": {"message": KEY}}).encode()))
            failed = await outcome(transcriber, await stored(blobs, RECORDING))
    assert isinstance(failed, TranscriptionRefused)
    assert KEY not in str(failed)


async def test_a_wrong_key_is_refused() -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        async with asking(server, key="another") as (transcriber, blobs):
            failed = await outcome(transcriber, await stored(blobs, RECORDING))
    assert isinstance(failed, TranscriptionRefused)


@pytest.mark.parametrize("status", [400, 413, 415, 422])
async def test_a_recording_that_is_refused_cannot_be_read(status: int) -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        async with asking(server) as (transcriber, blobs):
            server.will(Raw(status=status, body=b'{"error": {"message": "corrupt", "param": "file"}}'))
            failed = await outcome(transcriber, await stored(blobs, RECORDING))
    assert isinstance(failed, UnreadableAudio)


async def test_a_page_that_claims_to_be_a_recording_cannot_be_read() -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        async with asking(server) as (transcriber, blobs):
            failed = await outcome(transcriber, await stored(blobs, b"<!doctype html>"))
    assert isinstance(failed, UnreadableAudio)


async def test_a_model_that_is_not_there_is_not_the_recordings_fault() -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        async with asking(server, model="gone") as (transcriber, blobs):
            failed = await outcome(transcriber, await stored(blobs, RECORDING))
            assert isinstance(failed, TranscriptionUnavailable)
        async with asking(server) as (transcriber, blobs):
            server.will(Raw(status=400, body=b'{"error": {"param": "model", "code": "invalid_value"}}'))
            failed = await outcome(transcriber, await stored(blobs, RECORDING))
            assert isinstance(failed, TranscriptionUnavailable)
        blobs = MemoryBlobs(clock=StoppedClock())
        wire = DeepgramWire(Service(base_url=server.base_url, api_key=KEY), model="gone")
        async with open_remote_transcriber(wire, blobs=blobs) as transcriber:
            failed = await outcome(transcriber, await stored(blobs, RECORDING))
            assert isinstance(failed, TranscriptionUnavailable)


async def test_a_name_and_a_type_from_outside_never_reach_a_header() -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        async with asking(server) as (transcriber, blobs):
            content = (await stored(blobs, RECORDING)).content
            audio = Audio(
                content=content, mime_type="audio/ogg\r\nX-Evil: 1", file_name='a"\r\nX-Evil: 1/../voice.ogg'
            )
            assert await outcome(transcriber, audio) == "A recording of 16 bytes."
        assert server.refusals == ()


class Endless:
    """A store of one recording whose bytes are made as they are asked for."""

    def __init__(self, size: int, *, breaks_at: int | None = None) -> None:
        self._size = size
        self._breaks_at = breaks_at

    @asynccontextmanager
    async def open(self, blob: BlobRef) -> AsyncGenerator[AsyncIterator[bytes]]:
        yield self._pieces()

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield b"OggS"
        for at in range(4, self._size, 65_536):
            if self._breaks_at is not None and at > self._breaks_at:
                raise BlobsUnavailable("the disk is gone")
            yield bytes(min(65_536, self._size - at))


async def test_a_store_that_breaks_in_the_middle_is_told_as_what_it_is() -> None:
    size = 1_000_000
    audio = Audio(
        content=BlobRef(digest="a" * 64, size_bytes=size), mime_type="audio/ogg", file_name="voice.ogg"
    )
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        wire = OpenAIWire(Service(base_url=server.base_url, api_key=KEY), model="gpt-4o-mini-transcribe")
        store = Endless(size, breaks_at=500_000)
        async with open_remote_transcriber(wire, blobs=store) as transcriber:
            with pytest.raises(BlobsUnavailable):
                await transcriber.transcribe(audio)
        assert server.recordings == ()


async def test_a_recording_of_the_largest_size_arrives_whole() -> None:
    size = 20 * 1024 * 1024
    audio = Audio(
        content=BlobRef(digest="a" * 64, size_bytes=size), mime_type="audio/ogg", file_name="voice.ogg"
    )
    with transcription_server(key=KEY) as server, anyio.fail_after(30):
        wire = OpenAIWire(Service(base_url=server.base_url, api_key=KEY), model="gpt-4o-mini-transcribe")
        async with open_remote_transcriber(wire, blobs=Endless(size)) as transcriber:
            assert await outcome(transcriber, audio) == f"A recording of {size} bytes."


@pytest.mark.parametrize("proxy", ["http://ada:planted@127.0.0.1:9", "socks9://ada:planted@127.0.0.1:9"])
async def test_a_proxy_that_cannot_be_used_is_unavailable_and_never_gone_around(proxy: str) -> None:
    with transcription_server(key=KEY) as server, anyio.fail_after(20):
        wire = OpenAIWire(Service(base_url=server.base_url, api_key=KEY), model="gpt-4o-mini-transcribe")
        blobs = MemoryBlobs(clock=StoppedClock())
        async with open_remote_transcriber(wire, blobs=blobs, proxy=proxy) as transcriber:
            failed = await outcome(transcriber, await stored(blobs, RECORDING))
        assert isinstance(failed, TranscriptionUnavailable)
        assert not any("planted" in text for text in texts_of(failed))
        assert server.recordings == ()

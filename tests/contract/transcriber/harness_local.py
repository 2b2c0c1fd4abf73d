"""The local transcriber under the hands of the suite: the real process with a real, small model."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from fermix.application.ports.blobs import Blobs
from fermix.application.ports.transcription import Transcriber
from fermix.infrastructure.transcription.local.models import built_in_model
from fermix.infrastructure.transcription.local.transcriber import open_local_transcriber
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.transcriber_conformance import CannotArrange, Gap, HearingDeed

_OWN_WORDS = "a real model hears what it will, and falls into no trouble when it is told to"

GAPS = tuple(
    Gap(check=check, reason=_OWN_WORDS)
    for check in (
        "the_words_come_as_they_were_heard",
        "no_words_are_no_transcript",
        "the_recording_arrives_byte_for_byte",
        "a_refused_key_is_told",
        "what_is_no_audio_is_told",
        "a_busy_backend_is_unavailable",
        "nobody_there_is_unavailable",
        "silence_ends_in_time",
        "half_an_answer_is_none",
        "nonsense_is_no_transcript",
        "a_recording_is_sent_once",
        "the_next_recording_is_heard",
        "no_secret_shows_in_a_failure",
        "no_word_that_was_said_is_logged",
        "who_leaves_is_seen_leaving",
    )
)
"""Each of these is proved for the process itself, by tests that kill, stall and starve it."""


class LocalListener:
    """The `Listener` of the local model: nothing can be arranged, nothing can be seen."""

    def will(self, *deeds: HearingDeed) -> None:
        raise CannotArrange(_OWN_WORDS)

    async def asked(self, times: int) -> None:
        raise CannotArrange(_OWN_WORDS)

    @property
    def recordings(self) -> tuple[bytes, ...]:
        raise CannotArrange(_OWN_WORDS)

    async def left(self) -> None:
        raise CannotArrange(_OWN_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLocal:
    transcriber: Transcriber
    blobs: Blobs
    listener: LocalListener
    secrets: tuple[str, ...] = ()


class LocalHarness:
    """A `TranscriberHarness` over the local model; its process starts with the first recording."""

    def __init__(self, recording: bytes) -> None:
        self.recording = recording

    @property
    def patience(self) -> timedelta:
        return timedelta(seconds=10)

    @asynccontextmanager
    async def open(self, *, impatient: bool = False) -> AsyncGenerator[OpenLocal]:
        blobs = MemoryBlobs(clock=StoppedClock())
        async with open_local_transcriber(blobs=blobs, model=built_in_model()) as transcriber:
            yield OpenLocal(transcriber=transcriber, blobs=blobs, listener=LocalListener())

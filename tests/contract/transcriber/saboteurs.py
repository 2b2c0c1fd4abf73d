"""Transcribers with one fault each, planted around the one in memory, by the check that is there to notice it."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

import anyio
import anyio.lowlevel

from fermix.application.ports.blobs import BlobError
from fermix.application.ports.transcription import (
    Audio,
    EmptyTranscript,
    Transcriber,
    TranscriberProfile,
    Transcript,
    TranscriptionError,
    TranscriptionUnavailable,
)
from fermix.testing.transcriber_conformance import HearingTrouble
from tests.contract.transcriber.harness_memory import SECRET, Behind, Sabotage

Transcribe = Callable[[Audio], Awaitable[Transcript]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulty:
    profile: TranscriberProfile
    do: Transcribe

    async def transcribe(self, audio: Audio) -> Transcript:
        return await self.do(audio)


def fault(make: Callable[[Transcriber, Behind], Transcribe]) -> Sabotage:
    """A saboteur that keeps the profile."""
    return lambda inside, behind: Faulty(profile=inside.profile, do=make(inside, behind))


def mistaken(trouble: HearingTrouble) -> Sabotage:
    """A saboteur that takes one trouble for no kind in particular."""

    def make(inside: Transcriber, behind: Behind) -> Transcribe:
        async def do(audio: Audio) -> Transcript:
            concerned = behind.listener.next_deed is trouble
            try:
                return await inside.transcribe(audio)
            except TranscriptionError:
                if concerned:
                    raise TranscriptionError("something") from None
                raise

        return do

    return fault(make)


def content_with(trouble: HearingTrouble) -> Sabotage:
    """A saboteur that makes a transcript of what came before the trouble."""

    def make(inside: Transcriber, behind: Behind) -> Transcribe:
        async def do(audio: Audio) -> Transcript:
            concerned = behind.listener.next_deed is trouble
            try:
                return await inside.transcribe(audio)
            except TranscriptionError:
                if concerned:
                    return Transcript(text="half of it")
                raise

        return do

    return fault(make)


@fault
def leaves_blanks(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        unasked = behind.listener.next_deed is None
        transcript = await inside.transcribe(audio)
        return replace(transcript, text=f"{transcript.text} ") if unasked else transcript

    return do


@fault
def writes_blanks_for_tabs(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        transcript = await inside.transcribe(audio)
        return replace(transcript, text=transcript.text.replace("\t", " "))

    return do


@fault
def describes_the_silence(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        try:
            return await inside.transcribe(audio)
        except EmptyTranscript:
            return Transcript(text="(silence)")

    return do


@fault
def stops_at_a_boundary(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        async with behind.blobs.open(audio.content) as pieces:
            content = b"".join([piece async for piece in pieces])
        cut = content.partition(b"\r\n--boundary--")[0]

        async def shorter() -> AsyncGenerator[bytes]:
            yield cut

        async with aclosing(shorter()) as stream:
            blob = await behind.blobs.store(stream, limit=len(content))
        return await inside.transcribe(replace(audio, content=blob))

    return do


@fault
def hears_silence_in_nothing(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        if audio.content.size_bytes == 0:
            raise EmptyTranscript("silence")
        return await inside.transcribe(audio)

    return do


@fault
def blames_the_backend_for_the_store(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        try:
            return await inside.transcribe(audio)
        except BlobError as exc:
            raise TranscriptionUnavailable("something") from exc

    return do


def is_nameless(inside: Transcriber, behind: Behind) -> Transcriber:
    return Faulty(profile=replace(inside.profile, backend=" "), do=inside.transcribe)


@fault
def hears_the_last_one_only(inside: Transcriber, behind: Behind) -> Transcribe:
    last: list[Audio] = []

    async def do(audio: Audio) -> Transcript:
        last[:] = [audio]
        await anyio.lowlevel.checkpoint()
        return await inside.transcribe(last[0])

    return do


@fault
def sends_it_again(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        try:
            return await inside.transcribe(audio)
        except TranscriptionError:
            await inside.transcribe(audio)
            raise

    return do


@fault
def breaks_for_good(inside: Transcriber, behind: Behind) -> Transcribe:
    failures: list[TranscriptionError] = []

    async def do(audio: Audio) -> Transcript:
        if failures:
            raise failures[0]
        try:
            return await inside.transcribe(audio)
        except TranscriptionError as exc:
            failures.append(exc)
            raise

    return do


@fault
def spills_the_key(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        try:
            return await inside.transcribe(audio)
        except TranscriptionError as exc:
            raise exc from RuntimeError(f"header was Bearer {SECRET}")

    return do


@fault
def logs_the_key(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        logging.getLogger("fermix.sabotage").debug("asking", extra={"header": f"Bearer {SECRET}"})
        return await inside.transcribe(audio)

    return do


@fault
def logs_what_was_said(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        transcript = await inside.transcribe(audio)
        logging.getLogger("fermix.sabotage").info("heard %s", transcript.text)
        return transcript

    return do


@fault
def stays_when_its_asker_leaves(inside: Transcriber, behind: Behind) -> Transcribe:
    async def do(audio: Audio) -> Transcript:
        if behind.listener.next_deed is not HearingTrouble.SILENT:
            return await inside.transcribe(audio)
        done = anyio.Event()
        ended: list[Transcript | TranscriptionError] = []

        async def alone() -> None:
            try:
                ended.append(await inside.transcribe(audio))
            except TranscriptionError as exc:
                ended.append(exc)
            done.set()

        behind.tasks.start_soon(alone)
        await done.wait()
        if isinstance(ended[0], TranscriptionError):
            raise ended[0]
        return ended[0]

    return do


SABOTEURS: tuple[tuple[str, Sabotage], ...] = (
    ("what_was_said_is_told", leaves_blanks),
    ("the_words_come_as_they_were_heard", writes_blanks_for_tabs),
    ("no_words_are_no_transcript", describes_the_silence),
    ("the_recording_arrives_byte_for_byte", stops_at_a_boundary),
    ("nothing_is_no_audio", hears_silence_in_nothing),
    ("a_recording_that_is_gone_is_told", blames_the_backend_for_the_store),
    ("the_profile_names_the_backend", is_nameless),
    ("recordings_at_once_are_kept_apart", hears_the_last_one_only),
    ("a_refused_key_is_told", mistaken(HearingTrouble.KEY_REFUSED)),
    ("what_is_no_audio_is_told", mistaken(HearingTrouble.UNREADABLE)),
    ("a_busy_backend_is_unavailable", mistaken(HearingTrouble.BUSY)),
    ("nobody_there_is_unavailable", mistaken(HearingTrouble.UNREACHABLE)),
    ("silence_ends_in_time", mistaken(HearingTrouble.SILENT)),
    ("half_an_answer_is_none", content_with(HearingTrouble.CUT)),
    ("nonsense_is_no_transcript", content_with(HearingTrouble.NONSENSE)),
    ("a_recording_is_sent_once", sends_it_again),
    ("the_next_recording_is_heard", breaks_for_good),
    ("no_secret_shows_in_a_failure", spills_the_key),
    ("no_secret_shows_in_a_failure", logs_the_key),
    ("no_word_that_was_said_is_logged", logs_what_was_said),
    ("who_leaves_is_seen_leaving", stays_when_its_asker_leaves),
)
"""Each with the one check that must notice it; every check has at least one."""

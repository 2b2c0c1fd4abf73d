"""Checks of transcripts: what they hold, what they are made of, and whose they are."""

import anyio

from fermix.application.ports.blobs import BlobMissing
from fermix.application.ports.transcription import Audio, EmptyTranscript, UnreadableAudio
from fermix.domain.blob import BlobRef
from fermix.testing.expectations import PromiseBroken, must_equal, must_refuse
from fermix.testing.transcriber_checks.check import TranscriberCheck, ask, proves, stored
from fermix.testing.transcriber_harness import Heard, OpenTranscriber, TranscriberHarness

_AT_ONCE = 4
_PADDING = b"\r\n--boundary--\r\n\x00\xff" * 20_000
"""Longer than any buffer on the way, with bytes that mean something to protocols."""


@proves()
async def what_was_said_is_told(harness: TranscriberHarness) -> None:
    """A recording in which something is said has a transcript without blanks around it."""
    async with harness.open() as opened:
        transcript = await ask(opened, harness.recording)
    if not transcript.text or transcript.text != transcript.text.strip():
        raise PromiseBroken(
            f"the transcript: expected words without blanks around, found {transcript.text!r}"
        )


@proves()
async def the_words_come_as_they_were_heard(harness: TranscriberHarness) -> None:
    """Letters of all scripts and lines inside are kept, blanks around are not; the language is handed on."""
    text = "Grüße 🎉\n\tto you, 您好"
    async with harness.open() as opened:
        opened.listener.will(Heard(text=f" \n{text} \n"))
        transcript = await ask(opened, harness.recording)
    must_equal(transcript.text, text, "the text")


@proves()
async def no_words_are_no_transcript(harness: TranscriberHarness) -> None:
    """A recording in which the backend heard nothing, or blanks alone, is told as empty."""
    async with harness.open() as opened:
        for text in ("", " \n\t "):
            opened.listener.will(Heard(text=text))
            with must_refuse(EmptyTranscript, f"a transcript of {text!r}"):
                await ask(opened, harness.recording)


@proves()
async def the_recording_arrives_byte_for_byte(harness: TranscriberHarness) -> None:
    """The backend is given exactly the bytes of the store, however many and whatever they look like."""
    content = harness.recording + _PADDING
    async with harness.open() as opened:
        opened.listener.will(Heard(text="heard"))
        await ask(opened, content)
        if opened.listener.recordings != (content,):
            sizes = [len(each) for each in opened.listener.recordings]
            raise PromiseBroken(
                f"what arrived: expected {len(content)} bytes as they are, found {sizes} bytes"
            )


@proves()
async def nothing_is_no_audio(harness: TranscriberHarness) -> None:
    """A recording of no bytes cannot be read."""
    async with harness.open() as opened:
        with must_refuse(UnreadableAudio, "a recording of no bytes"):
            await ask(opened, b"")


@proves()
async def a_recording_that_is_gone_is_told(harness: TranscriberHarness) -> None:
    """A recording that is not in the store (any more) is missing, and the next one is transcribed."""
    gone = BlobRef(digest="0" * 64, size_bytes=70_000)
    async with harness.open() as opened:
        with must_refuse(BlobMissing, "a recording that is not there"):
            await opened.transcriber.transcribe(
                Audio(content=gone, mime_type="audio/ogg", file_name="voice.ogg")
            )
        await ask(opened, harness.recording)


@proves()
async def the_profile_names_the_backend(harness: TranscriberHarness) -> None:
    """The backend has a name, which stays, and if its languages are told, there are some."""
    async with harness.open() as opened:
        profile = opened.transcriber.profile
        await ask(opened, harness.recording)
        must_equal(opened.transcriber.profile, profile, "the profile after a recording")
    must_equal(bool(profile.backend.strip()), True, "whether it has a name")
    must_equal(profile.languages is None or len(profile.languages) > 0, True, "whether there are languages")


@proves()
async def recordings_at_once_are_kept_apart(harness: TranscriberHarness) -> None:
    """Of several recordings at the same time each gets the transcript it would get alone."""
    found: dict[int, str] = {}

    async def one(opened: OpenTranscriber, audio: Audio, number: int) -> None:
        found[number] = (await opened.transcriber.transcribe(audio)).text

    async with harness.open() as opened:
        audios = [await stored(opened.blobs, harness.recording + bytes(number)) for number in range(_AT_ONCE)]
        alone = [(await opened.transcriber.transcribe(audio)).text for audio in audios]
        async with anyio.create_task_group() as tasks:
            for number, audio in enumerate(audios):
                tasks.start_soon(one, opened, audio, number)
    must_equal([found[number] for number in range(_AT_ONCE)], alone, "transcripts of recordings at once")


CHECKS: tuple[TranscriberCheck, ...] = (
    what_was_said_is_told,
    the_words_come_as_they_were_heard,
    no_words_are_no_transcript,
    the_recording_arrives_byte_for_byte,
    nothing_is_no_audio,
    a_recording_that_is_gone_is_told,
    the_profile_names_the_backend,
    recordings_at_once_are_kept_apart,
)

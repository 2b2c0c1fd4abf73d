"""What each service is asked with and what is read in its answers, whatever stands in them."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.transcription import Audio
from fermix.domain.blob import BlobRef
from fermix.infrastructure.transcription.deepgram import DeepgramWire
from fermix.infrastructure.transcription.openai import OpenAIWire
from fermix.infrastructure.transcription.wire import Said, Service, Wire
from fermix.infrastructure.transcription.xai import XaiWire
from fermix.testing.servers.multipart import parts_of

SERVICE = Service(base_url="https://speech.invalid/v1", api_key="k-planted")
OPENAI, XAI = OpenAIWire(SERVICE, model="m-1"), XaiWire(SERVICE)
DEEPGRAM = DeepgramWire(SERVICE, model="nova & co")
WIRES: tuple[Wire, ...] = (OPENAI, XAI, DEEPGRAM)
EACH = pytest.mark.parametrize("wire", WIRES, ids=["openai", "xai", "deepgram"])

OF_ANSWERS = ["text", "language", "results", "channels", "alternatives", "transcript", "detected_language"]
OF_REFUSALS = ["error", "param", "code", "err_code"]
NAMES = st.text() | st.sampled_from([*OF_ANSWERS, *OF_REFUSALS])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
    max_leaves=12,
)


def a_recording(name: str = "voice.ogg", mime_type: str | None = "audio/ogg") -> Audio:
    content = BlobRef(digest="0f" * 32, size_bytes=5)
    return Audio(content=content, mime_type=mime_type, file_name=name)


@pytest.mark.parametrize(
    ("wire", "fields"),
    [(OPENAI, ["model", "response_format", "file"]), (XAI, ["file"])],
    ids=["openai", "xai"],
)
@given(content=st.binary(), name=st.text(), mime_type=st.none() | st.text())
def test_a_form_holds_the_recording_last_under_a_plain_name_and_type(
    wire: Wire, fields: list[str], content: bytes, name: str, mime_type: str | None
) -> None:
    question = wire.question(a_recording(name, mime_type))
    parts = parts_of(question.headers["Content-Type"], question.before + content + question.after)
    assert [part.name for part in parts] == fields
    assert parts[-1].content == content
    assert parts[-1].file_name
    assert parts[-1].file_name.isascii()
    assert "\n" not in question.before.decode().partition('name="file"')[2].partition("\r\n")[0]


def test_a_voice_note_is_called_what_it_is() -> None:
    question = OPENAI.question(a_recording())
    *_, file = parts_of(question.headers["Content-Type"], question.before + b"OggS" + question.after)
    assert (file.file_name, file.mime_type) == ("voice.ogg", "audio/ogg")
    assert DEEPGRAM.question(a_recording()).headers["Content-Type"] == "audio/ogg"


def test_each_service_is_asked_at_its_own_place_with_its_own_scheme() -> None:
    asked = [wire.question(a_recording()) for wire in WIRES]
    assert [urlsplit(question.url).path for question in asked] == [
        "/v1/audio/transcriptions",
        "/v1/stt",
        "/v1/listen",
    ]
    assert [question.headers["Authorization"].split()[0] for question in asked] == [
        "Bearer",
        "Bearer",
        "Token",
    ]
    assert parse_qs(urlsplit(asked[2].url).query) == {
        "model": ["nova & co"],
        "detect_language": ["true"],
        "smart_format": ["true"],
    }


def test_a_key_shows_nowhere_but_in_its_header() -> None:
    for wire in WIRES:
        question = wire.question(a_recording())
        assert "k-planted" not in repr(question) + repr(wire) + question.url
        assert "k-planted" in question.headers["Authorization"]


def test_without_a_key_none_is_sent() -> None:
    keyless = Service(base_url="http://127.0.0.1:9/v1")
    for wire in (OpenAIWire(keyless, model="m"), XaiWire(keyless), DeepgramWire(keyless, model="m")):
        assert "Authorization" not in wire.question(a_recording()).headers


def test_the_words_and_the_language_are_found() -> None:
    channel = {"alternatives": [{"transcript": "hi"}, {"transcript": "high"}], "detected_language": "en"}
    assert DEEPGRAM.said({"results": {"channels": [channel]}}) == Said(text="hi", language="en")
    assert OPENAI.said({"text": "hi"}) == Said(text="hi")
    assert XAI.said({"text": "hi", "language": ""}) == Said(text="hi")
    assert XAI.said({"text": "hi", "language": "de"}) == Said(text="hi", language="de")


def test_half_a_character_pair_does_not_break_what_stores_the_words() -> None:
    assert OPENAI.said({"text": "a\ud83db"}) == Said(text="a?b")


@EACH
@given(answer=st.dictionaries(NAMES, JSON))
def test_no_answer_breaks_the_reading(wire: Wire, answer: dict[str, Any]) -> None:
    said = wire.said(answer)
    assert said is None or isinstance(said.text, str)
    assert isinstance(wire.blames_the_request(answer), bool)


@EACH
@pytest.mark.parametrize("odd", [[], {}, 7, None])
def test_no_refusal_breaks_the_reading(wire: Wire, odd: Any) -> None:
    assert not wire.blames_the_request({"error": {"param": odd, "code": odd}, "err_code": odd})

"""Voice notes, pictures and files through a real daemon: Telegram's client, ledger, decoder and model wire."""

import base64
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from PIL import Image

from fermix.domain.media_wording import FILE_OF_A_GUEST, NOT_CONFIGURED
from fermix.domain.wording import LOOKS_EMPTY, stopped
from fermix.testing.servers.openai_strict.script import Say
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.telegram_api.server import TelegramServer, telegram_server
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.harness.speech import Speech

TOKEN = "999001:AAtesttokentesttokentesttoken00001"
OWNER, GUEST = 1001, 2002
OGG = b"OggS" + bytes(24) + b"OpusHead" + bytes(400)
RED, GREEN, BLUE = (200, 30, 30), (30, 200, 30), (30, 30, 200)


def picture(colour: tuple[int, int, int]) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(made, "PNG")
    return made.getvalue()


def colour_of(data_url: str) -> tuple[int, int, int]:
    """The colour of a picture as it went to the model; which of three is all that is asked."""
    shown = Image.open(io.BytesIO(base64.b64decode(data_url.partition(",")[2]))).convert("RGB")
    pixel = shown.getpixel((32, 24))
    assert isinstance(pixel, tuple)
    return max(
        (RED, GREEN, BLUE), key=lambda colour: -sum(abs(a - b) for a, b in zip(colour, pixel, strict=True))
    )


@dataclass(slots=True, kw_only=True)
class Flat:
    """A home, a Bot API server, a model with eyes, and what the transcriber hears."""

    home: FermixHome
    server: TelegramServer
    model: StrictServer
    speech: Speech
    photos: int = 0

    def start(self, *, hears: bool = True) -> Daemon:
        return self.home.daemon(ear=self.speech.ear if hears else None).ready()

    def voice(
        self, *, chat: int = OWNER, user: int = OWNER, caption: str | None = None, **facts: Any
    ) -> None:
        file = self.server.add_file(OGG, "voice/file_7.oga")
        about = {"file_id": file, "file_unique_id": f"u{file}", "duration": 2, **facts}
        self.server.user_writes(chat, user=user, raw={"voice": about, "caption": caption})

    def photo(self, content: bytes, *, caption: str | None = None, album: str | None = None) -> None:
        self.photos += 1
        file = self.server.add_file(content, f"photos/file_{self.photos}.jpg")
        size = {"file_id": file, "file_unique_id": f"u{file}", "width": 64, "height": 48}
        raw = {"photo": [size], "caption": caption, "media_group_id": album}
        self.server.user_writes(OWNER, raw={key: value for key, value in raw.items() if value is not None})

    def document(self, content: bytes, name: str, *, user: int = OWNER, **facts: Any) -> None:
        file = self.server.add_file(content, f"documents/{name}")
        about = {"file_id": file, "file_unique_id": f"u{file}", "file_name": name, **facts}
        self.server.user_writes(user, user=user, raw={"document": about})

    def asked(self) -> list[Any]:
        """What people said in the last request, as the model reads it."""
        return [
            entry["content"] for entry in self.model.requests[-1].body["messages"] if entry["role"] == "user"
        ]


@pytest.fixture
def flat(home: FermixHome, model: StrictServer, speech: Speech) -> Iterator[Flat]:
    with telegram_server(token=TOKEN) as server:
        home.use(
            model.base_url,
            more=(
                "[fermix_channels.telegram]\n"
                f'bot_token = "{TOKEN}"\nowner_user_id = {OWNER}\nallowed_user_ids = [{GUEST}]\n'
                f'api_base_url = "{server.api_base_url}"\nalbum_debounce_ms = 300\n'
            ),
        )
        config = home.path / "config.toml"
        config.write_text(config.read_text().replace("default_model", "vision = true\ndefault_model"))
        yield Flat(home=home, server=server, model=model, speech=speech)


@pytest.mark.requirement("media.transcription.with_or_without_caption", "media.transcription.caption_first")
def test_a_voice_note_is_answered_and_named_by_its_content_whatever_its_path_says(flat: Flat) -> None:
    flat.start()
    flat.speech.says("Buy milk.")
    flat.voice(caption="for tomorrow")
    (reply,) = flat.server.sent(1)
    assert reply.text == "You said: for tomorrow\n\n[voice note transcript]\nBuy milk."
    assert flat.speech.heard(1) == [f"recording.ogg audio/ogg {len(OGG)}"]


@pytest.mark.requirement("media.order_is_kept", "media.prepared_at_admission")
def test_a_slow_voice_note_is_not_overtaken_and_holds_nobody_else(flat: Flat) -> None:
    flat.start()
    flat.voice()
    flat.speech.heard(1)
    flat.server.user_writes(OWNER, "and then?")
    flat.server.user_writes(GUEST, "hi", user=GUEST)
    (first,) = flat.server.sent(1)
    assert (first.chat, first.text) == (GUEST, "You said: hi")
    flat.speech.says("first this")
    shown = flat.server.sent(2, chat=OWNER)
    assert [one.text for one in shown] == ["You said: first this", "You said: and then?"]


@pytest.mark.requirement("media.not_prepared_twice")
def test_a_daemon_killed_while_it_listens_listens_again_without_a_second_download(flat: Flat) -> None:
    daemon = flat.start()
    flat.voice()
    flat.speech.heard(1)
    until(lambda: flat.home.rows("SELECT blob FROM media WHERE blob IS NOT NULL"), what="the download")
    daemon.kill()
    flat.start()
    flat.speech.heard(2)
    flat.speech.says("after all")
    (reply,) = flat.server.sent(1)
    assert reply.text == "You said: after all"
    assert len(flat.server.called("getFile")) == 1


@pytest.mark.requirement("media.not_prepared_twice")
def test_a_daemon_killed_in_the_middle_of_a_download_fetches_that_file_again_and_no_other(flat: Flat) -> None:
    config = flat.home.path / "config.toml"
    config.write_text(config.read_text().replace("album_debounce_ms = 300", "album_debounce_ms = 2000"))
    daemon = flat.start()
    flat.photo(picture(RED), album="g", caption="which colours?")
    until(lambda: flat.home.rows("SELECT blob FROM media WHERE state='ready'"), what="the first download")
    flat.server.fault("download", hang=math.inf)
    flat.photo(picture(BLUE), album="g")
    flat.server.called("getFile", 2)
    daemon.kill()
    assert [state for (state,) in flat.home.rows("SELECT state FROM media ORDER BY message")] == [
        "ready",
        "waiting",
    ]
    flat.server.clear_faults()
    flat.start()
    flat.server.sent(1)
    (content,) = flat.asked()
    assert [part["type"] for part in content] == ["text", "image_url", "image_url"]
    assert [colour_of(part["image_url"]["url"]) for part in content[1:]] == [RED, BLUE]
    assert len(flat.server.called("getFile")) == 3
    assert len(flat.server.sent()) == 1


def test_a_stop_ends_listening_and_nothing_of_it_is_answered_later(flat: Flat) -> None:
    flat.start()
    flat.voice()
    flat.speech.heard(1)
    flat.server.user_writes(OWNER, "/stop")
    (reply,) = flat.server.sent(1)
    assert reply.text == stopped(running=0, waiting=1)
    flat.speech.says("too late")
    flat.server.user_writes(OWNER, "hello")
    assert flat.server.sent(2)[1].text == "You said: hello"
    assert not flat.speech.is_silent()


@pytest.mark.requirement("media.album.is_one_turn", "media.image.attached_as_content", "media.order_is_kept")
def test_an_album_is_one_question_with_its_pictures_in_order(flat: Flat) -> None:
    flat.start()
    flat.model.will(Say(text="Three flags."), Say(text="The green one."))
    flat.photo(picture(RED), caption="before", album="g1")
    flat.photo(picture(GREEN), album="g1")
    flat.photo(picture(BLUE), caption="after", album="g1")
    assert flat.server.sent(1)[0].text == "Three flags."
    (question,) = flat.asked()
    texts = [part["text"] for part in question if part["type"] == "text"]
    shown = [part["image_url"]["url"] for part in question if part["type"] == "image_url"]
    assert texts == ["before\n\nafter"]
    assert [colour_of(url) for url in shown] == [RED, GREEN, BLUE]
    flat.server.user_writes(OWNER, "and the middle?")
    assert flat.server.sent(2)[1].text == "The green one."


@pytest.mark.requirement("media.image.failure_is_silent_to_sender")
def test_a_picture_that_cannot_be_downloaded_ends_its_message_and_the_next_one_is_answered(
    flat: Flat,
) -> None:
    flat.start()
    flat.server.fault("getFile", status=400, description="Bad Request: wrong file_id")
    flat.photo(picture(RED), caption="look")
    flat.server.user_writes(OWNER, "hello")
    assert [one.text for one in flat.server.sent(1)] == ["You said: hello"]
    assert "media.failed" in flat.home.log()


def test_a_voice_note_over_the_limit_is_not_even_asked_for(flat: Flat) -> None:
    flat.start()
    flat.voice(file_size=26_214_400)
    (reply,) = flat.server.sent(1)
    assert (
        reply.text
        == "Your recording (25 MB) is larger than the 20 MB I can take. Please send a shorter clip."
    )
    assert flat.server.called("getFile") == []
    flat.speech.says("short")
    flat.voice()
    assert flat.server.sent(2)[1].text == "You said: short"


@pytest.mark.requirement("media.transcription.not_configured_reply")
def test_without_a_transcriber_the_sender_is_told_how_to_get_one(flat: Flat) -> None:
    config = flat.home.path / "config.toml"
    config.write_text(config.read_text() + '[fermix_core.transcription]\nbackend = "deepgram"\n')
    flat.start(hears=False)
    flat.voice()
    (reply,) = flat.server.sent(1)
    assert reply.text == NOT_CONFIGURED.replace("`", "")
    assert flat.model.requests == []


def test_the_owners_file_is_saved_where_tools_find_it_and_a_guests_is_refused(flat: Flat) -> None:
    flat.start()
    flat.document(b"%PDF-1.7 minutes of the meeting", "Minutes.pdf")
    (reply,) = flat.server.sent(1)
    (saved,) = (flat.home.path / "workspace" / "inbox").iterdir()
    assert saved.read_bytes() == b"%PDF-1.7 minutes of the meeting"
    assert f'"inbox/{saved.name}"' in reply.text
    flat.document(b"%PDF-1.7 a guest's", "Guest.pdf", user=GUEST)
    assert flat.server.sent(1, chat=GUEST)[0].text == FILE_OF_A_GUEST
    assert len(list((flat.home.path / "workspace" / "inbox").iterdir())) == 1


@pytest.mark.requirement("media.nothing_readable_looks_empty")
def test_an_empty_file_looks_empty(flat: Flat) -> None:
    flat.start()
    flat.document(b"", "nothing.bin")
    assert flat.server.sent(1)[0].text == LOOKS_EMPTY

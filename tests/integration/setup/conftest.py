"""A home, and the servers that what is set up talks to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.integration.setup.setting_up import KEY


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def model() -> Iterator[StrictServer]:
    with strict_server(key=KEY) as server:
        yield server

"""A home and, in it, the real control socket in front of a scripted gateway."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.local_socket.scripted_control import ScriptedControl, served


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def daemon(home: Path) -> Iterator[ScriptedControl]:
    control = ScriptedControl()
    with served(home / "daemon.sock", control):
        yield control

"""A home with a configuration that people wrote."""

from pathlib import Path

import pytest

WRITTEN = """\
# my agent
[fermix_core.agent]
name = "ada"  # her name

# Who may write.
[fermix_channels.telegram]
bot_token = "12345:planted-bot-token"
allowed_user_ids = [1001]

[fermix_web]
port = 5000
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def config(home: Path) -> Path:
    path = home / "config.toml"
    path.write_text(WRITTEN)
    path.chmod(0o600)
    return path

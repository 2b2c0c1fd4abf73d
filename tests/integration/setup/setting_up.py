"""`fermix setup` as a process, away from the keychain of whoever runs the tests."""

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

from tests.integration.cli.command_line import Done, fermix

NO_KEYCHAIN = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
KEY = "sk-planted-0123456789abcdef"


def setup(home: Path, *arguments: str, text: bytes | None = None, **more: str) -> Done:
    return fermix(home, "setup", *arguments, text=text, cwd=None, **{**NO_KEYCHAIN, **more})


def written(home: Path) -> dict[str, Any]:
    """What the file says."""
    return tomllib.loads((home / "config.toml").read_text())


def private(home: Path) -> dict[str, str]:
    """What the private file of secrets holds, and that it is private."""
    (path,) = (home / "secrets").glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found: dict[str, str] = json.loads(path.read_text())["secrets"]
    return found

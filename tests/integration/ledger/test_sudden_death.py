"""A process killed in the middle of its commits leaves everything behind that it had acknowledged."""

import subprocess
import sys
from pathlib import Path

import pytest

from fermix.infrastructure.persistence.sqlite.connection import open_both
from tests.integration.ledger.kit import ask_file

ROOT = Path(__file__).parents[3]


def acknowledged_before_kill(path: Path, *, at_least: int, name: str = "a") -> list[str]:
    """Run the admitting process, kill it with SIGKILL after so many lines, and give every line it printed."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.integration.ledger.admitting_process", str(path), name],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(at_least)]
        process.kill()
        lines += process.stdout.readlines()
    assert process.returncode == -9
    return [line.strip() for line in lines if line.endswith("\n")]


@pytest.mark.requirement("ingress.admit.synced_before_acknowledge")
@pytest.mark.parametrize("at_least", [1, 25, 300])
def test_every_acknowledged_row_is_there_after_a_kill(tmp_path: Path, at_least: int) -> None:
    path = tmp_path / "ledger.db"
    acknowledged = acknowledged_before_kill(path, at_least=at_least)
    for connection in open_both(path):
        connection.close()
    kept = {str(key) for (key,) in ask_file(path, "SELECT key FROM messages")}
    assert len(acknowledged) >= at_least
    assert set(acknowledged) <= kept
    assert ask_file(path, "PRAGMA integrity_check") == [("ok",)]


def test_death_after_death_on_one_file_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    acknowledged: set[str] = set()
    for name in ("a", "b", "c"):
        printed = acknowledged_before_kill(path, at_least=1, name=name)
        acknowledged |= set(printed)
        for connection in open_both(path):
            connection.close()
    kept = {str(key) for (key,) in ask_file(path, "SELECT key FROM messages")}
    assert acknowledged <= kept

"""A process killed in the middle of what it writes leaves everything behind that it had acknowledged."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import anyio
import apsw
import pytest

from fermix.infrastructure.persistence.sqlite import schema
from fermix.infrastructure.persistence.sqlite.connection import open_both
from tests.integration.ledger.dying_process import ENOUGH_FOR_A_CHECKPOINT, sweep, upgrade
from tests.integration.ledger.kit import an_owned_ledger, ask_file
from tests.integration.ledger.test_opening import BACK_TO_FIRST
from tests.integration.ledger.test_sweeping import answered

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


ANSWERED = ("1", "2", "3", "4", "5")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a ledger in which some messages were answered."""

    async def fill() -> None:
        async with an_owned_ledger(tmp_path / "ledger.db") as ledger:
            for key in ANSWERED:
                await answered(ledger, key)

    anyio.run(fill)
    return tmp_path


def copies_of_the_dead(folder: Path, doing: str, writes: Iterable[int]) -> tuple[list[Path], Path | None]:
    """One ledger for each write that its process died in, and that of the process that lived, if one did."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.integration.ledger.dying_process", folder, doing, *map(str, writes)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    ends = {number: int(status) for number, status in (line.split() for line in told.stdout.splitlines())}
    assert set(ends.values()) <= {-9, 0}, told.stderr
    found = {
        status: [folder / each / "ledger.db" for each in ends if ends[each] == status] for status in (-9, 0)
    }
    return found[-9], found[0][0] if found[0] else None


def sound(path: Path) -> bool:
    return ask_file(path, "PRAGMA integrity_check") == [("ok",)] and not ask_file(
        path, "PRAGMA foreign_key_check"
    )


def test_an_upgrade_killed_in_any_of_its_writes_is_done_again(folder: Path) -> None:
    with apsw.Connection(str(folder / "ledger.db")) as connection:
        for statement in BACK_TO_FIRST:
            connection.execute(statement)
        connection.execute("PRAGMA user_version=1")
    connection.close()
    dead, _ = copies_of_the_dead(folder, "upgrade", range(1, 100))
    assert len(dead) > 10
    seen = set()
    for path in dead:
        seen |= {version for (version,) in ask_file(path, "PRAGMA user_version")}
        anyio.run(upgrade, path)
        assert ask_file(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
        assert [key for (key,) in ask_file(path, "SELECT key FROM messages ORDER BY message")] == [*ANSWERED]
        assert sound(path)
    assert seen == {1, schema.SCHEMA_VERSION}, "old or new, and never between"


def test_a_sweep_killed_in_any_of_its_writes_goes_on(folder: Path) -> None:
    dead, lived = copies_of_the_dead(folder, "sweep", range(1, 200, 4))
    assert len(dead) > 10
    assert lived is not None
    left = [f"SELECT count(*) FROM {table}" for table in ("messages", "turns", "outbox", "entries")]  # noqa: S608
    for path in dead:
        assert sound(path)
        anyio.run(sweep, path)
        assert [ask_file(path, each) for each in left] == [ask_file(lived, each) for each in left]
        assert sound(path)


def test_a_checkpoint_killed_in_any_of_its_writes_loses_nothing(folder: Path) -> None:
    dead, _ = copies_of_the_dead(folder, "checkpoint", (1, 2, 10, 100, 500, 900))
    assert len(dead) == 6
    for path in dead:
        acknowledged = path.with_name("acknowledged").read_text().split()
        assert 0 < len(acknowledged) < ENOUGH_FOR_A_CHECKPOINT
        kept = {str(key) for (key,) in ask_file(path, "SELECT key FROM messages")}
        assert {*ANSWERED, *acknowledged} <= kept
        assert sound(path)

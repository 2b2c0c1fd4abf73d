"""The disk under the SQLite suites loses what was not synced, and nothing else."""

import shutil
from collections.abc import Generator
from pathlib import Path
from random import Random

import apsw
import pytest

from tests.contract.ledger.harness_sqlite import RememberingDisk, SyncedFile, a_disk


@pytest.fixture
def disk() -> Generator[RememberingDisk]:
    with a_disk() as disk:
        yield disk


def a_database(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE counted(number INTEGER PRIMARY KEY, filler BLOB)")
    return connection


def left_after_power_cut(disk: RememberingDisk, path: Path, folder: Path, chance: Random | None) -> list[int]:
    """What a new process finds; the file must be whole."""
    folder.mkdir()
    for name in (path.name, f"{path.name}-wal"):
        (folder / name).write_bytes(disk.files[str(path.with_name(name))].after_power_cut(chance))
    connection = apsw.Connection(str(folder / path.name))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [number for (number,) in connection.execute("SELECT number FROM counted ORDER BY number")]
    finally:
        connection.close()


def test_a_power_cut_keeps_what_was_synced_and_a_prefix_of_the_rest(
    disk: RememberingDisk, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.db"
    connection = a_database(path)
    seen: set[int] = set()
    try:
        for number in range(60):
            if number == 40:
                connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("INSERT INTO counted VALUES(?, randomblob(3000))", (number,))
        assert left_after_power_cut(disk, path, tmp_path / "all", None) == list(range(40))
        for seed in range(60):
            left = left_after_power_cut(disk, path, tmp_path / str(seed), Random(seed))
            assert left == list(range(len(left)))
            assert len(left) >= 40
            seen.add(len(left))
    finally:
        connection.close()
    assert len(seen) > 5, "chance is meant to pick different prefixes"


def test_a_power_cut_is_survived_around_checkpoints(disk: RememberingDisk, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    connection = a_database(path)
    connection.execute("PRAGMA wal_autocheckpoint=20").fetchall()
    connection.execute("PRAGMA synchronous=NORMAL")
    try:
        for number in range(120):
            connection.execute("INSERT INTO counted VALUES(?, randomblob(3000))", (number,))
            left = left_after_power_cut(disk, path, tmp_path / f"cut-{number}", Random(number))
            assert left == list(range(len(left)))
            shutil.rmtree(tmp_path / f"cut-{number}")
    finally:
        connection.close()


def test_a_file_that_was_cut_short_is_so_after_its_sync() -> None:
    file = SyncedFile(bytearray(b"abcdef"))
    file.since += [(2, None), (4, b"xy")]
    assert file.after_power_cut(None) == b"abcdef"
    file.sync()
    assert file.after_power_cut(None) == b"ab\0\0xy"

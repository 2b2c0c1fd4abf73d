"""Opening the file: its mode, its pragmas, its identity, and every way it can be unusable."""

import os
from pathlib import Path

import apsw
import pytest

from fermix.application.ports.admissions import Accepted
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.domain.lane import QueueLimits
from fermix.infrastructure.persistence.sqlite import schema
from fermix.infrastructure.persistence.sqlite.admissions import SqliteAdmissions
from fermix.infrastructure.persistence.sqlite.connection import open_both
from fermix.infrastructure.persistence.sqlite.errors import (
    LedgerDamaged,
    LedgerInaccessible,
    NewerLedger,
    NotALedger,
)
from tests.integration.ledger.disks import a_disk
from tests.integration.ledger.kit import (
    a_ledger,
    a_writer,
    admit_one,
    an_owned_ledger,
    ask_file,
    mode,
    overwrite,
    says,
    take,
)

pytestmark = pytest.mark.anyio


def test_every_pragma_reads_back_as_set(path: Path) -> None:
    writing, reading = open_both(path)
    try:
        read = {
            name: writing.pragma(name)
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "wal_autocheckpoint", "synchronous")
        }
        assert read == {
            "journal_mode": "wal",
            "foreign_keys": 1,
            "busy_timeout": 5000,
            "wal_autocheckpoint": 1000,
            "synchronous": 2,
        }
        assert reading.pragma("query_only") == 1
        with pytest.raises(apsw.ReadOnlyError):
            reading.execute("DELETE FROM runtime")
    finally:
        reading.close()
        writing.close()


def test_statements_are_planned_once_and_not_for_every_value(path: Path) -> None:
    for connection in open_both(path):
        assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1
        connection.close()


def test_every_table_is_strict_and_the_file_carries_our_marks(path: Path) -> None:
    for connection in open_both(path):
        connection.close()
    loose = ask_file(
        path,
        "SELECT name FROM pragma_table_list WHERE schema='main' AND strict=0 AND name NOT LIKE 'sqlite_%'",
    )
    assert loose == []
    assert ask_file(path, "PRAGMA application_id") == [(schema.APPLICATION_ID,)]
    assert ask_file(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]


async def test_file_and_companions_belong_to_this_user_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        async with an_owned_ledger(path) as ledger:
            await admit_one(ledger, says("1"))
            modes = {file.name: mode(file) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}


async def test_a_file_others_could_read_is_closed_to_them(path: Path) -> None:
    async with an_owned_ledger(path):
        pass
    os.chmod(path, 0o644)  # noqa: PTH101  a test may block for a moment
    async with a_ledger(path):
        assert mode(path) == 0o600


async def test_what_was_committed_is_there_after_reopening(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1"))
    async with a_ledger(path) as ledger:
        found = await ledger.queue.find(origin="telegram:bot", key="1")
    assert found is not None
    assert found.row == accepted.row


_ADDED_LAST = ("size_bytes", "mime_type", "width", "height", "language", "kind", "limit_bytes")
_BACK_TO_THIRD = (
    "DROP TABLE entry_pictures",
    "DROP INDEX media_waiting",
    *(f"ALTER TABLE media DROP COLUMN {name}" for name in _ADDED_LAST),
)
_BACK_TO_SECOND = (
    *_BACK_TO_THIRD,
    "DROP TABLE gone",
    "DROP INDEX outbox_blob",
    "DROP INDEX media_blob",
    "ALTER TABLE outbox DROP COLUMN blob",
)
BACK_TO_FIRST = (*_BACK_TO_SECOND, "DROP TABLE moves")
"""What makes a file of version 1 of one of this version."""


@pytest.mark.parametrize(
    ("version", "back"),
    [(1, BACK_TO_FIRST), (2, _BACK_TO_SECOND), (3, _BACK_TO_THIRD)],
)
async def test_a_file_of_an_older_version_is_brought_to_this_one_with_all_that_is_in_it(
    path: Path, version: int, back: tuple[str, ...]
) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1"))
    connection = apsw.Connection(str(path))
    for statement in back:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    for _ in range(2):
        async with an_owned_ledger(path) as ledger:
            found = await ledger.queue.find(origin="telegram:bot", key="1")
            claims = await ledger.turns.claim(limit=0, channels=frozenset())
        assert found is not None
        assert (found.row, claims.turns) == (accepted.row, ())
    assert ask_file(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]


async def test_a_file_of_a_newer_version_is_refused_with_both_versions(path: Path) -> None:
    async with an_owned_ledger(path):
        pass
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version=9")
    connection.close()
    with pytest.raises(NewerLedger) as refused:
        async with a_ledger(path):
            pass
    assert (refused.value.found, refused.value.known) == (9, schema.SCHEMA_VERSION)
    assert str(path) in str(refused.value)
    assert "version 9" in str(refused.value)


async def test_another_programs_database_is_left_alone(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs(x)")
    connection.close()
    with pytest.raises(NotALedger, match=r"another program"):
        async with a_ledger(path):
            pass
    assert ask_file(path, "SELECT name FROM sqlite_schema") == [("theirs",)]


@pytest.fixture
def notes(path: Path) -> Path:
    path.write_bytes(b"these are somebody's notes, not a database\n" * 200)
    return path


async def test_a_file_that_is_no_database_is_named(notes: Path) -> None:
    with pytest.raises(NotALedger, match=r"ledger\.db is not a database"):
        async with a_ledger(notes):
            pass


async def test_a_damaged_file_is_named(path: Path) -> None:
    async with an_owned_ledger(path):
        pass
    overwrite(path, b"\xff" * 500, at=100)
    with pytest.raises(LedgerDamaged, match=r"ledger\.db is damaged"):
        async with a_ledger(path):
            pass


async def test_a_link_to_somebodys_file_leaves_that_file_as_it_is(path: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("somebody's notes")
    theirs.chmod(0o644)
    os.symlink(theirs, path)  # noqa: PTH211  a test may block for a moment
    with pytest.raises(NotALedger):
        async with a_ledger(path):
            pass
    assert (mode(theirs), theirs.read_text()) == (0o644, "somebody's notes")


async def test_a_ledger_behind_a_link_is_closed_to_others(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "ledger.db"
    elsewhere.parent.mkdir()
    async with an_owned_ledger(elsewhere):
        pass
    elsewhere.chmod(0o644)
    os.symlink(elsewhere, path)  # noqa: PTH211  a test may block for a moment
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        modes = {file.name: mode(file) for file in elsewhere.parent.iterdir()}
    assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}


@pytest.mark.parametrize("place", ["missing/ledger.db", "file/ledger.db", "folder"])
async def test_a_path_that_cannot_be_a_file_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(LedgerInaccessible, match=str(tmp_path / place)):
        async with a_ledger(tmp_path / place):
            pass


async def test_a_folder_where_nothing_can_be_written_is_named(path: Path) -> None:
    async with an_owned_ledger(path):
        pass

    with a_disk() as disk:
        disk.refuses_the_log = True
        with pytest.raises(LedgerInaccessible, match=r"ledger\.db cannot be opened or written"):
            async with a_ledger(path):
                pass


async def test_a_file_somebody_holds_locked_is_unavailable_not_broken(path: Path) -> None:
    async with a_writer(path, busy_timeout_ms=20) as (writer, _):
        admissions = SqliteAdmissions(writer=writer, limits=QueueLimits())
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailable, match="nothing was written"):
            await admissions.admit([says("1")])
        other.close()
        (accepted,) = await admissions.admit([says("1")])
    assert isinstance(accepted, Accepted)


async def test_nothing_is_written_before_the_home_is_taken(path: Path) -> None:
    async with a_ledger(path) as ledger:
        with pytest.raises(LedgerUnavailable, match="not taken"):
            await admit_one(ledger, says("1"))
        await take(ledger)
        await admit_one(ledger, says("1"))


async def test_a_closed_ledger_is_unavailable(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        pass
    with pytest.raises(LedgerUnavailable, match="closed"):
        await admit_one(ledger, says("1"))


async def test_a_sound_file_passes_the_check_and_a_damaged_one_is_named(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit([says(str(n), "x" * 3000) for n in range(60)])
        await ledger.quick_check()
    overwrite(path, b"\xaa" * 64, at=40 * 4096, every=4096)
    async with a_ledger(path) as ledger:
        with pytest.raises(LedgerDamaged, match=r"ledger\.db is damaged"):
            await ledger.quick_check()

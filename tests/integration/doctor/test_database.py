"""The database as doctor finds it: looked into, and left exactly as it was."""

from pathlib import Path

import apsw
import pytest

from fermix.infrastructure.persistence.sqlite.inspection import look
from fermix.infrastructure.persistence.sqlite.schema import SCHEMA_VERSION
from tests.integration.doctor.ledgers import a_ledger, left_by_a_killed_process, with_a_paused_turn
from tests.integration.doctor.looking import doctor, trace_of


def test_a_paused_request_is_named_with_what_to_do(home: Path) -> None:
    with_a_paused_turn(home / "ledger.db")
    before = trace_of(home)
    seen = doctor(home)
    assert seen.status_of("paused") == "warn"
    assert "lost requests: 7" in seen.words_of("paused")
    assert "/discard" in seen.words_of("paused")
    assert trace_of(home) == before


def test_what_is_still_in_the_log_is_seen(home: Path) -> None:
    left_by_a_killed_process(home / "ledger.db")
    before = trace_of(home)
    seen = doctor(home)
    assert "lost requests: 7" in seen.words_of("paused")
    assert "no damage found" in seen.words_of("database")
    assert trace_of(home) == before


def test_a_log_without_its_index_is_left_to_the_next_start(home: Path) -> None:
    left_by_a_killed_process(home / "ledger.db")
    (home / "ledger.db-shm").unlink()
    before = trace_of(home)
    seen = doctor(home)
    assert (seen.status_of("database"), seen.status_of("paused")) == ("ok", "skip")
    assert "next start" in seen.words_of("database")
    assert trace_of(home) == before


def test_a_missing_database_is_not_made(home: Path) -> None:
    doctor(home)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("content", [b"this is no database at all, however long it may be" * 99, b"short"])
def test_what_is_no_database_is_named(home: Path, content: bytes) -> None:
    (home / "ledger.db").write_bytes(content)
    (home / "ledger.db").chmod(0o600)
    seen = doctor(home)
    assert (seen.status, seen.status_of("database")) == (1, "fail")
    assert "is not a database" in seen.words_of("database")
    assert (home / "ledger.db").read_bytes() == content


def test_another_programs_database_is_named(home: Path) -> None:
    with apsw.Connection(str(home / "ledger.db")) as connection:
        connection.execute("CREATE TABLE other(x)")
    assert "another program" in doctor(home).words_of("database")


def test_a_newer_database_is_named(home: Path) -> None:
    a_ledger(home / "ledger.db")
    connection = apsw.Connection(str(home / "ledger.db"))
    connection.execute("PRAGMA user_version=99")
    connection.close()
    assert "newer Fermix" in doctor(home).words_of("database")


def test_damage_is_named(home: Path) -> None:
    path = home / "ledger.db"
    a_ledger(path)
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 12] = b"\x55" * 4096 * 11
    path.write_bytes(content)
    seen = doctor(home)
    assert (seen.status, seen.status_of("database")) == (1, "fail")
    assert "is damaged" in seen.words_of("database")


def test_a_file_that_was_only_made_is_well(home: Path) -> None:
    (home / "ledger.db").touch(mode=0o600)
    assert doctor(home).status_of("database") == "ok"


def test_a_database_open_to_others_is_remarked_on(home: Path) -> None:
    a_ledger(home / "ledger.db")
    (home / "ledger.db").chmod(0o644)
    assert "mode 0644" in doctor(home).words_of("database")


def test_looking_ends_when_the_time_is_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    a_ledger(path)
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO lanes(lane, channel) VALUES(1, 'cli')")
    rows = ((1, 0, "user", f"{number}") for number in range(20_000))
    with connection:
        connection.executemany("INSERT INTO entries(lane, window, role, content) VALUES(?,?,?,?)", rows)
    connection.close()
    assert not look(path, seconds=0).checked
    assert look(path, seconds=20).checked


def test_a_name_with_odd_characters_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a%20b?mode=rwc#c" / "ledger.db"
    path.parent.mkdir()
    a_ledger(path)
    assert look(path, seconds=20).schema == SCHEMA_VERSION

"""Opening the ledger's file: rights, identity, schema, and every pragma set alone and read back."""

import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from fermix.application.ports.ledger_errors import LedgerError, LedgerFull, LedgerUnavailable
from fermix.infrastructure.persistence.sqlite import schema
from fermix.infrastructure.persistence.sqlite.errors import (
    LedgerDamaged,
    LedgerInaccessible,
    NewerLedger,
    NotALedger,
)

BUSY_TIMEOUT_MS = 5000
CHECKPOINT_PAGES = 1000
FILE_MODE = 0o600
_STATEMENTS_CACHED = 256
_ROOM_TO_OPEN = 64 * 1024
"""Bytes: the shared memory of the log (32 KiB), and the first pages of the log and of the file."""


def open_both(path: Path) -> tuple[apsw.Connection, apsw.Connection]:
    """Open (and on first use create) the file: the writing connection, and a read-only one. Blocks.

    Raises:
        LedgerNotOpened: the file cannot be used; says which file, and why.
        LedgerFull: no space to create it.
        LedgerUnavailable: another process holds it locked.
    """
    try:
        _create_private(path)
        writing = _open_writing(path)
        try:
            _close_to_others(path.resolve())
            return writing, open_reading(path)
        except BaseException:
            writing.close()
            raise
    except OSError as exc:
        raise LedgerInaccessible(path, f"{path} cannot be opened: {exc.strerror or exc}") from exc
    except apsw.Error as exc:
        raise _translated(path, exc) from exc


def open_reading(path: Path) -> apsw.Connection:
    """A connection that cannot write."""
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READONLY, statementcachesize=_STATEMENTS_CACHED
    )
    try:
        _keep_plans(connection)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _set(path, connection, "query_only", "ON", 1)
    except BaseException:
        connection.close()
        raise
    return connection


def set_synchronous(connection: apsw.Connection, *, durable: bool) -> None:
    """Choose whether the next commits are synced; SQLite refuses this inside a transaction."""
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")


def _create_private(path: Path) -> None:
    """Make the file ours alone before SQLite puts anything in it; `-wal` and `-shm` inherit the mode.

    An existing file is never opened here: closing it would drop the locks SQLite holds on it. What a link leads to
    may be anybody's file, so its mode is left alone until it is known to be a ledger.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        if path.is_dir():
            raise LedgerInaccessible(path, f"{path} is a folder, not a ledger file") from None
    if not path.is_symlink():
        _close_to_others(path)


def _close_to_others(path: Path) -> None:
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if file.exists() and file.stat().st_mode & 0o777 != FILE_MODE:
            file.chmod(FILE_MODE)


def _open_writing(path: Path) -> apsw.Connection:
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=_STATEMENTS_CACHED
    )
    try:
        _keep_plans(connection)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _identify(path, connection)
        _set(path, connection, "journal_mode", "WAL", "wal")
        _set(path, connection, "busy_timeout", str(BUSY_TIMEOUT_MS), BUSY_TIMEOUT_MS)
        _set(path, connection, "wal_autocheckpoint", str(CHECKPOINT_PAGES), CHECKPOINT_PAGES)
        _set(path, connection, "foreign_keys", "ON", 1)
        # On macOS fsync alone leaves data in the drive's cache; elsewhere these two change nothing.
        _set(path, connection, "fullfsync", "ON", 1)
        _set(path, connection, "checkpoint_fullfsync", "ON", 1)
        _set(path, connection, "synchronous", "FULL", 2)
        _create_schema(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _keep_plans(connection: apsw.Connection) -> None:
    """Plan each statement once, whatever values it is run with.

    SQLite built with STAT4, as apsw's is, otherwise plans many a statement anew for every value bound to it, which
    costs several times what the statement itself does.
    """
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _set(path: Path, connection: apsw.Connection, pragma: str, value: str, expected: int | str) -> None:
    """Set one pragma and read it back: a pragma SQLite does not take is silent."""
    connection.execute(f"PRAGMA {pragma}={value}").fetchall()
    got = connection.pragma(pragma)
    if got != expected:
        raise LedgerInaccessible(
            path, f"{path}: SQLite refused {pragma}={value} here (it stays {got}); use a local disk"
        )


def _identify(path: Path, connection: apsw.Connection) -> None:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application == schema.APPLICATION_ID:
        if version > schema.SCHEMA_VERSION:
            raise NewerLedger(path, found=version, known=schema.SCHEMA_VERSION)
        return
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0]
    if application or version or tables:
        raise NotALedger(path, f"{path} is a database of another program, not a Fermix ledger")


def _create_schema(connection: apsw.Connection) -> None:
    version = connection.pragma("user_version")
    if version == schema.SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements_from(version):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except apsw.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements_from(version: int) -> Iterator[str]:
    if version == 0:
        yield from schema.STATEMENTS
    else:
        for each in range(version, schema.SCHEMA_VERSION):
            yield from schema.UPGRADES[each]


def _translated(path: Path, error: apsw.Error) -> LedgerError:
    match error:
        case apsw.NotADBError():
            return NotALedger(path, f"{path} is not a database. Move it away, or restore a backup.")
        case apsw.CorruptError():
            return LedgerDamaged(path, f"{path} is damaged ({error}). Restore a backup, or move it away.")
        case apsw.FullError():
            return _full(path)
        case apsw.IOError() if _no_room(path):  # that the log's shared memory does not fit is no FullError
            return _full(path)
        case apsw.BusyError() | apsw.LockedError():
            return LedgerUnavailable(f"{path} is locked by another process")
        case _:
            return LedgerInaccessible(path, f"{path} cannot be opened or written: {error}")


def _full(path: Path) -> LedgerFull:
    return LedgerFull(f"there is no space left on the disk of {path}; free some, then try again")


def _no_room(path: Path) -> bool:
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _ROOM_TO_OPEN

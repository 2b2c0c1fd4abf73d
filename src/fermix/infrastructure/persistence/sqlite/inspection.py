"""Looking into a ledger that nobody has open, without leaving a trace: for doctor."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import apsw

from fermix.infrastructure.persistence.sqlite import schema
from fermix.infrastructure.persistence.sqlite.errors import NewerLedger

_STEPS_BETWEEN_LOOKS = 10_000
_WAL = "-wal"
_SHM = "-shm"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLook:
    """What was seen.

    Attributes:
        schema: version of the tables; `None` when it was not read.
        paused: ids of turns that wait for their owner, oldest first; `None` when they were not read.
        checked: whether all of the file was looked at for damage.
        trouble: why the file cannot be used, as a sentence; `None` when it can.
        unread: why nothing was read although the file may be sound; `None` when it was.
    """

    schema: int | None = None
    paused: tuple[int, ...] | None = None
    checked: bool = False
    trouble: str | None = None
    unread: str | None = None


def look(path: Path, *, seconds: float) -> LedgerLook:
    """Look at a ledger file. Blocks. Nothing is created or changed.

    The caller has made sure that no process owns the ledger: a file without a log is read as if it never changed.

    Args:
        path: the ledger, which exists.
        seconds: how long to look for damage at most.
    """
    try:
        connection = _open(path)
    except apsw.Error as exc:
        return _trouble(path, exc)
    if connection is None:
        return LedgerLook(
            unread="its log must be brought in by the next start, so its content was left alone"
        )
    try:
        return _read(path, connection, seconds)
    except apsw.Error as exc:
        return _trouble(path, exc)
    finally:
        connection.close()


def _open(path: Path) -> apsw.Connection | None:
    """A connection that makes no file: SQLite makes an index beside a log, and makes both anew where none is."""
    wal = path.with_name(path.name + _WAL)
    if not wal.exists() or wal.stat().st_size == 0:
        option = "immutable=1"
    elif path.with_name(path.name + _SHM).exists():
        option = "readonly_shm=1"
    else:
        return None
    return apsw.Connection(
        f"file:{quote(os.fsencode(path))}?mode=ro&{option}",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
    )


def _read(path: Path, connection: apsw.Connection, seconds: float) -> LedgerLook:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0]
    if not (application or version or tables):
        return LedgerLook(schema=0, paused=(), checked=True)  # made, and nothing written yet
    if application != schema.APPLICATION_ID:
        return LedgerLook(trouble=f"{path} is a database of another program, not a Fermix ledger")
    if version > schema.SCHEMA_VERSION:
        return LedgerLook(trouble=str(NewerLedger(path, found=version, known=schema.SCHEMA_VERSION)))
    paused = connection.execute("SELECT turn FROM turns WHERE state='unknown' ORDER BY turn").fetchall()
    first = _first_damage(connection, seconds)
    if first not in {None, "ok"}:
        return LedgerLook(trouble=f"{path} is damaged ({first})")
    return LedgerLook(
        schema=version,
        paused=tuple(turn for (turn,) in paused if isinstance(turn, int)),
        checked=first is not None,
    )


def _first_damage(connection: apsw.Connection, seconds: float) -> str | None:
    """`ok`, what is wrong, or `None` when the time was over first."""
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() >= deadline, _STEPS_BETWEEN_LOOKS)
    try:
        ((first,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
    except apsw.InterruptError:
        return None
    return str(first)


def _trouble(path: Path, error: apsw.Error) -> LedgerLook:
    match error:
        case apsw.NotADBError():
            return LedgerLook(trouble=f"{path} is not a database")
        case apsw.CorruptError() | apsw.SQLError():
            return LedgerLook(trouble=f"{path} is damaged ({error})")
        case apsw.BusyError() | apsw.LockedError():
            return LedgerLook(unread="another process is using it")
        case _:
            return LedgerLook(trouble=f"{path} cannot be read ({error})")

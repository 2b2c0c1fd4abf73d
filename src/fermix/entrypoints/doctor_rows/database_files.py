"""The files of the database, and what is in them where nobody has them open."""

import os
import stat
from dataclasses import replace
from pathlib import Path

from fermix.application.operations.doctor.database import DatabaseFacts
from fermix.infrastructure.persistence.sqlite.inspection import LedgerLook, look

DAMAGE_SECONDS = 2.0
"""How long to look for damage; a gigabyte takes about as long."""


def look_at_database(path: Path, *, in_use: bool) -> tuple[DatabaseFacts, tuple[int, ...] | None]:
    """The facts, and the ids of paused requests where they could be read.

    Args:
        path: the main file.
        in_use: somebody has it open; then only names and sizes are looked at.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return DatabaseFacts(path=str(path), exists=False), None
    except OSError as exc:
        closed = f"{path} cannot be looked at: {(exc.strerror or str(exc)).lower()}"
        return DatabaseFacts(path=str(path), exists=True, closed=closed), None
    if not stat.S_ISREG(status.st_mode):
        return DatabaseFacts(path=str(path), exists=True, trouble=f"{path} is not a file"), None
    wal = _status(path.with_name(f"{path.name}-wal"))
    facts = DatabaseFacts(
        path=str(path),
        exists=True,
        bytes=status.st_size,
        wal_bytes=0 if wal is None else wal.st_size,
        mode=stat.S_IMODE(status.st_mode | (0 if wal is None else wal.st_mode)),
        in_use=in_use,
    )
    if in_use:
        return facts, None
    if not os.access(path, os.R_OK):
        return replace(facts, closed=f"{path} may not be read by this user"), None
    seen: LedgerLook = look(path, seconds=DAMAGE_SECONDS)
    return (
        replace(facts, schema=seen.schema, checked=seen.checked, trouble=seen.trouble, unread=seen.unread),
        seen.paused,
    )


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None

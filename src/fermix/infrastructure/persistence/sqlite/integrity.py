"""Looking through the whole file for damage, after a start that may follow a power cut."""

import threading
from pathlib import Path

import anyio
import apsw

from fermix.infrastructure.persistence.sqlite.connection import open_reading
from fermix.infrastructure.persistence.sqlite.errors import LedgerDamaged

_STEPS_BETWEEN_LOOKS = 10_000


async def quick_check(path: Path) -> None:
    """Check the file's structure, over a read-only connection of its own (0.2 s per 130 MB).

    It may be cancelled at any time and then ends at once.

    Raises:
        LedgerDamaged: names the file and the first thing found.
    """
    cancelled = threading.Event()
    try:
        damage = await anyio.to_thread.run_sync(_look, path, cancelled, abandon_on_cancel=True)
    finally:
        cancelled.set()
    if damage is not None:
        raise LedgerDamaged(path, f"{path} is damaged ({damage}). Restore a backup, or move it away.")


def _look(path: Path, cancelled: threading.Event) -> str | None:
    try:
        connection = open_reading(path)
    except apsw.Error as exc:
        return str(exc)
    try:
        connection.set_progress_handler(cancelled.is_set, _STEPS_BETWEEN_LOOKS)
        ((first,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as exc:
        return str(exc)
    except apsw.InterruptError:
        return None
    finally:
        connection.close()
    return None if first == "ok" else str(first)

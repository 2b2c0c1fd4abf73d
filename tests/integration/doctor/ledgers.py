"""Ledgers in the states a process may leave them in."""

import subprocess
import sys
from pathlib import Path

import anyio
import apsw

from fermix.domain.lane import QueueLimits
from fermix.infrastructure.persistence.sqlite.database import open_ledger
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.system.ids import Uuids

_UNKNOWN = "INSERT INTO lanes(lane, channel) VALUES(1, 'cli');"
_TURN = "INSERT INTO turns(turn, lane, channel, state, created_at) VALUES(7, 1, 'cli', 'unknown', 0)"


async def _open_and_close(path: Path) -> None:
    limits = QueueLimits(per_conversation=10, total=10)
    async with open_ledger(
        path, clock=SystemClock(), ids=Uuids(), limits=limits, on_broken=lambda: None
    ) as ledger:
        await ledger.ownership.take(instance="test", boot="test")


def a_ledger(path: Path) -> None:
    """One that its owner closed in order."""
    anyio.run(_open_and_close, path)


def with_a_paused_turn(path: Path) -> None:
    """One in which request 7 waits for its owner."""
    a_ledger(path)
    connection = apsw.Connection(str(path))
    connection.execute(_UNKNOWN)
    connection.execute(_TURN)
    connection.close()


_DIE = """
import os, sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.execute(sys.argv[2])
connection.execute(sys.argv[3])
os.kill(os.getpid(), 9)
"""


def left_by_a_killed_process(path: Path) -> None:
    """One whose newest rows, request 7 among them, are still in the log beside it."""
    a_ledger(path)
    done = subprocess.run([sys.executable, "-c", _DIE, str(path), _UNKNOWN, _TURN], check=False, timeout=20)
    assert done.returncode == -9
    assert path.with_name("ledger.db-wal").stat().st_size > 0

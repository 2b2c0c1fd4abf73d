"""Disks that count, refuse, break or kill: SQLite VFS layers over the real one, made the default while in use."""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import apsw
from typing_extensions import Buffer, override

_NAMES = count()
_REAL = apsw.vfs_names()[0]


@dataclass
class Disk:
    """What a disk does from now on, and how often it was synced.

    Attributes:
        refuses_syncs_while: a file that makes it refuse syncs while it is there.
        kills_at: the so-manieth write kills this process when half of it is written; writes to logs are counted
            with `counts_logs` only.
    """

    syncs: int = 0
    refuses_syncs: bool = False
    refuses_syncs_while: Path | None = None
    is_full: bool = False
    refuses_the_log: bool = False
    kills_at: int | None = None
    counts_logs: bool = True
    writes: int = 0

    def fails_to_sync(self) -> bool:
        """Whether a sync is refused now."""
        return self.refuses_syncs or (
            self.refuses_syncs_while is not None and self.refuses_syncs_while.exists()
        )

    def is_last_write(self, *, of_log: bool) -> bool:
        """Count a write; whether it is the one to die in."""
        if self.kills_at is None or (of_log and not self.counts_logs):
            return False
        self.writes += 1
        return self.writes == self.kills_at


@contextmanager
def a_disk() -> Generator[Disk]:
    """Every file opened inside lies on this disk."""
    disk = Disk()
    vfs = _Layer(disk)
    try:
        yield disk
    finally:
        vfs.unregister()


class _Layer(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__(f"disk-{next(_NAMES)}", _REAL, makedefault=True)

    @override
    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        if self._disk.refuses_the_log and flags[0] & apsw.SQLITE_OPEN_WAL:
            raise apsw.CantOpenError
        return _File(self._disk, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__(_REAL, name, flags)

    @override
    def xWrite(self, data: Buffer, offset: int) -> None:
        if self._disk.is_full:
            raise apsw.FullError("the disk is full")
        if self._disk.is_last_write(of_log=self._is_log):
            super().xWrite(bytes(data)[: memoryview(data).nbytes // 2], offset)
            os.kill(os.getpid(), signal.SIGKILL)
        super().xWrite(data, offset)

    @override
    def xSync(self, flags: int) -> None:
        if self._disk.fails_to_sync():
            raise apsw.IOError("the disk refused to sync")
        self._disk.syncs += 1
        super().xSync(flags)

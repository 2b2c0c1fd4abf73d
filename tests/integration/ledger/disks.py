"""Disks that count, refuse or break: SQLite VFS layers over the real one, made the default while in use."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import apsw
from typing_extensions import Buffer, override

_NAMES = count()
_REAL = apsw.vfs_names()[0]


@dataclass
class Disk:
    """What a disk does from now on, and how often it was synced."""

    syncs: int = 0
    refuses_syncs: bool = False
    is_full: bool = False
    refuses_the_log: bool = False


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
        super().__init__(_REAL, name, flags)

    @override
    def xWrite(self, data: Buffer, offset: int) -> None:
        if self._disk.is_full:
            raise apsw.FullError("the disk is full")
        super().xWrite(data, offset)

    @override
    def xSync(self, flags: int) -> None:
        if self._disk.refuses_syncs:
            raise apsw.IOError("the disk refused to sync")
        self._disk.syncs += 1
        super().xSync(flags)

"""The SQLite ledger under the hands of the suites: a disk that knows what was synced, and homes that die.

A kill copies the files as they stand: the system keeps what a process wrote. A power cut keeps what was synced,
and of each write after that as much as chance picks (none without it), torn writes and writes out of order
included, as a disk with a cache does.
"""

import shutil
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

import apsw
from typing_extensions import override

from fermix.domain.lane import QueueLimits
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger, open_ledger
from fermix.testing.clock import CountedIds, StoppedClock

_NAMES = count()
_REAL = apsw.vfs_names()[0]


@dataclass
class SyncedFile:
    """What the disk holds of a file for certain, and what was written since: an offset with data, or a size."""

    held: bytearray
    since: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.since:
            _apply(self.held, change)
        self.since.clear()

    def after_power_cut(self, chance: Random | None) -> bytes:
        left = bytearray(self.held)
        if chance is None:
            return bytes(left)
        if chance.random() < 0.5:
            kept = self.since[: chance.randint(0, len(self.since))]
        else:
            kept = [change for change in self.since if chance.random() < 0.7]
        if kept and chance.random() < 0.5:
            offset, data = kept[-1]
            kept[-1] = (offset, None if data is None else data[: chance.randint(0, len(data))])
        for change in kept:
            _apply(left, change)
        return bytes(left)


def _apply(content: bytearray, change: tuple[int, bytes | None]) -> None:
    offset, data = change
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class RememberingDisk(apsw.VFS):
    """Every file lies on the real disk, which is never waited for; what a power cut would leave is remembered."""

    def __init__(self) -> None:
        self.files: dict[str, SyncedFile] = {}
        super().__init__(f"remembering-{next(_NAMES)}", _REAL, makedefault=True)

    @override
    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None:
            return apsw.VFSFile(_REAL, name, flags)
        return _File(self._remembered(path), name, flags)

    @override
    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.files.pop(filename, None)
        super().xDelete(filename, syncdir)

    def _remembered(self, path: str) -> SyncedFile:
        if path not in self.files:
            found = Path(path)
            self.files[path] = SyncedFile(bytearray(found.read_bytes() if found.exists() else b""))
        return self.files[path]


class _File(apsw.VFSFile):
    def __init__(self, remembered: SyncedFile, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._remembered = remembered
        super().__init__(_REAL, name, flags)

    @override
    def xWrite(self, data: bytes, offset: int) -> None:
        self._remembered.since.append((offset, bytes(data)))
        super().xWrite(data, offset)

    @override
    def xTruncate(self, newsize: int) -> None:
        self._remembered.since.append((newsize, None))
        super().xTruncate(newsize)

    @override
    def xSync(self, flags: int) -> None:
        self._remembered.sync()


@contextmanager
def a_disk() -> Generator[RememberingDisk]:
    """Every database opened inside lies on this disk."""
    disk = RememberingDisk()
    try:
        yield disk
    finally:
        disk.unregister()


def nothing() -> None:
    """Nobody listens for a broken disk here."""


class SqliteHome:
    """A `LedgerHarness` over one file; each death leaves its dead files behind and goes on in a copy."""

    def __init__(self, folder: Path, disk: RememberingDisk) -> None:
        self._folder = folder
        self._disk = disk
        self._clock = StoppedClock()
        self._ids = CountedIds()
        self._lives = count()
        self._path = self._next_path()

    @property
    def clock(self) -> StoppedClock:
        return self._clock

    @asynccontextmanager
    async def open(self, *, limits: QueueLimits | None = None) -> AsyncGenerator[SqliteLedger]:
        async with open_ledger(
            self._path,
            clock=self._clock,
            ids=self._ids,
            limits=limits if limits is not None else QueueLimits(),
            on_broken=nothing,
        ) as ledger:
            yield ledger

    async def kill(self) -> None:
        dead, self._path = self._path, self._next_path()
        for old, new in _companions(dead, self._path):
            if old.exists():
                shutil.copyfile(old, new)

    async def cut_power(self, chance: Random | None = None) -> None:
        dead, self._path = self._path, self._next_path()
        for old, new in _companions(dead, self._path):
            if str(old) in self._disk.files:
                new.write_bytes(self._disk.files[str(old)].after_power_cut(chance))

    async def cursor(self, origin: str, scope: str) -> str | None:
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            found = connection.execute(
                "SELECT value FROM cursors WHERE origin=? AND scope=?", (origin, scope)
            ).fetchone()
        finally:
            connection.close()
        return None if found is None else str(found[0])

    def _next_path(self) -> Path:
        folder = self._folder / f"life-{next(self._lives)}"
        folder.mkdir()
        return folder / "ledger.db"


def _companions(old: Path, new: Path) -> list[tuple[Path, Path]]:
    """The file and its log; the shared index is no part of what is kept, SQLite makes it anew."""
    return [(old, new), (old.with_name(f"{old.name}-wal"), new.with_name(f"{new.name}-wal"))]

"""Writes files that come in pieces into a folder: whole or not at all, and never over anything that is there."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import assert_never

from fermix.entrypoints.cli.file_names import candidates, safe_name
from fermix.entrypoints.cli.received_file import ReceivedFile
from fermix.infrastructure.local_socket.file_events import FileBegun, FileBroken, FileEvent, FilePiece

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o666
"""As any program makes files: the user's umask says who may read them."""


class FileSaver:
    """Takes the events of one file after another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._coming: _Coming | None = None

    def take(self, event: FileEvent) -> ReceivedFile | None:
        """The next event; the file, once it has ended: saved, or with what kept it from being saved."""
        try:
            return self._take(event)
        except OSError as error:
            return self._not_saved(f"{error.strerror or error}.")
        except ValueError:  # the file system's encoding lacks a character of the name
            return self._not_saved("Its name cannot be written here.")

    def drop(self) -> None:
        """Nothing more comes: nothing stays of a file that is not whole."""
        coming, self._coming = self._coming, None
        if coming is not None:
            coming.drop()

    def _take(self, event: FileEvent) -> ReceivedFile | None:
        match event:
            case FileBegun():
                self.drop()
                self._coming = _Coming(event, self._folder)
                self._coming.begin()
            case FilePiece(data):
                if self._coming is None:
                    return None  # of a file that could not be saved
                self._coming.write(data)
            case FileBroken(message):
                return None if self._coming is None else self._not_saved(message)
            case _:
                assert_never(event)
        if self._coming.missing > 0:
            return None
        path = self._coming.finish()
        begun, self._coming = self._coming.begun, None
        return _received(begun, path=path)

    def _not_saved(self, problem: str) -> ReceivedFile | None:
        coming = self._coming
        self.drop()
        return None if coming is None else _received(coming.begun, problem=problem)


class _Coming:
    """A file of which some has come; it lies under a name that nobody looks for until it is whole."""

    def __init__(self, begun: FileBegun, folder: Path) -> None:
        self.begun = begun
        self.missing = begun.size
        self._folder = folder
        self._partial = folder / f".fermix-{secrets.token_hex(8)}.part"
        self._handle: int | None = None

    def begin(self) -> None:
        self._handle = os.open(self._partial, _NEW, _MODE)

    def write(self, data: bytes) -> None:
        rest = memoryview(data)[: self.missing]
        self.missing -= len(rest)
        while rest and self._handle is not None:
            rest = rest[os.write(self._handle, rest) :]

    def finish(self) -> str:
        """Give it the first name that is free; where it lies."""
        self._close()
        place = self._reserved()
        try:
            self._partial.replace(place)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
        return str(place.absolute())

    def _reserved(self) -> Path:
        names = candidates(safe_name(self.begun.name))
        while True:
            place = self._folder / next(names)
            with suppress(FileExistsError):
                os.close(os.open(place, _NEW, _MODE))
                return place

    def drop(self) -> None:
        with suppress(OSError):
            self._close()
        with suppress(OSError):
            self._partial.unlink(missing_ok=True)

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _received(begun: FileBegun, *, path: str | None = None, problem: str | None = None) -> ReceivedFile:
    return ReceivedFile(
        name=begun.name,
        path=path,
        mime=begun.mime,
        size=begun.size,
        kind=begun.kind,
        caption=begun.caption,
        problem=problem,
    )

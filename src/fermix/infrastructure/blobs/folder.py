"""Files under their own digest in one private folder; blocking, and called from worker threads only."""

import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = ".unfinished-"
_READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotKept(LookupError):
    """No such file is kept here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFile:
    """A file as the folder knows it; `stored_at` is in seconds since 1970."""

    digest: str
    size_bytes: int
    stored_at: float


class BlobFolder:
    """Raises `OSError` and `NotKept`. The folder is made, closed to others, and freed of what was begun."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        self._path = path.resolve(strict=True)
        self._path.chmod(0o700)
        for entry in self._entries():
            if entry.name.startswith(_UNFINISHED):
                Path(entry.path).unlink()

    def files(self) -> Iterator[KeptFile]:
        """Everything that is kept; what is named otherwise is none of ours and left alone."""
        for entry in self._entries():
            if _DIGEST.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                yield KeptFile(digest=entry.name, size_bytes=found.st_size, stored_at=found.st_mtime)

    def begin(self, name: str) -> int:
        """A new file to write to, under a name that no digest has; it is removed with `drop`."""
        return os.open(self._unfinished(name), _NEW, 0o600)

    def drop(self, name: str) -> None:
        """Remove what was begun, if it is there still."""
        self._unfinished(name).unlink(missing_ok=True)

    def finish(self, name: str, handle: int, digest: str, *, now: float) -> bool:
        """Keep what was begun under its digest, safe from a power cut; whether it is new here."""
        os.utime(handle, (now, now))
        os.fsync(handle)
        place, begun = self._place(digest), self._unfinished(name)
        is_new = not place.exists()
        begun.replace(place)
        self._sync()
        return is_new

    def open(self, digest: str) -> tuple[int, int]:
        """A file to read from, and its size.

        Raises:
            NotKept: there is none.
        """
        try:
            handle = os.open(self._place(digest), _READ_ONLY)
        except FileNotFoundError as exc:
            raise NotKept from exc
        with _closed_on_error(handle):
            found = os.fstat(handle)
            if not S_ISREG(found.st_mode):
                raise NotKept
            return handle, found.st_size

    def remove(self, digest: str, *, before: float) -> int | None:
        """Remove a file that was stored before an instant; its size, `None` when nothing was removed."""
        place = self._place(digest)
        with suppress(FileNotFoundError):
            found = place.lstat()
            if found.st_mtime < before:
                place.unlink()
                return found.st_size
        return None

    def _entries(self) -> list[os.DirEntry[str]]:
        with os.scandir(self._path) as entries:
            return list(entries)

    def _place(self, digest: str) -> Path:
        if _DIGEST.fullmatch(digest) is None:
            raise NotKept
        return self._path / digest

    def _unfinished(self, name: str) -> Path:
        return self._path / f"{_UNFINISHED}{name}"

    def _sync(self) -> None:
        folder = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _closed_on_error(handle: int) -> Generator[None]:
    try:
        yield
    except BaseException:
        os.close(handle)
        raise

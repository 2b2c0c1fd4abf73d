"""What was typed in chats before: a file in the home, for its owner's eyes, that does not grow without end."""

import errno
import fcntl
import json
import os
import stat
from pathlib import Path

HISTORY_NAME = "chat_history"
MAX_ENTRIES = 1_000
MAX_BYTES = 1024 * 1024
MAX_ENTRY_CHARACTERS = 20_000
"""A longer message, most likely a pasted document, is not remembered."""


class HistoryFile:
    """One message a line, as a JSON string, the oldest first. Several chats may use it at once."""

    def __init__(self, path: Path, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_entries = max_entries
        self._max_bytes = max_bytes

    def read(self) -> list[str]:
        """The messages that are kept, the oldest first; lines that are none of ours are passed over.

        Raises:
            OSError: the file is there and cannot be read.
        """
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 2 * self._max_bytes))
                lines = file.read(2 * self._max_bytes).split(b"\n")
        finally:
            os.close(descriptor)
        entries = [entry for line in lines if (entry := _entry(line)) is not None]
        return entries[-self._max_entries :]

    def add(self, text: str) -> None:
        """Remember a message.

        Raises:
            OSError: the file cannot be written.
        """
        if len(text) > MAX_ENTRY_CHARACTERS:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        flags |= os.O_NONBLOCK  # a pipe would be waited for
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            os.write(descriptor, _line(text))
            if os.fstat(descriptor).st_size > self._max_bytes or len(self.read()) >= self._max_entries:
                self._shorten(descriptor)
        finally:
            os.close(descriptor)

    def _shorten(self, descriptor: int) -> None:
        """Keep the younger half, so that this is rare. Two chats that shorten at once may lose a line."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another chat is at it
        kept: list[bytes] = []
        room = self._max_bytes // 2
        for entry in reversed(self.read()[-(self._max_entries // 2) :]):
            line = _line(entry)
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        partial = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        new = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(new, "wb") as file:
            file.write(b"".join(reversed(kept)))
        partial.replace(self._path)


def _line(text: str) -> bytes:
    return json.dumps(text).encode("ascii") + b"\n"


def _entry(line: bytes) -> str | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, str) else None

"""Lines out of a descriptor, each within a limit."""

import os

_CHUNK_BYTES = 64 * 1024


class LineTooLong(Exception):
    """A line was longer than the limit and has been skipped; the next one can be read."""


class LineReader:
    """Cuts what a descriptor gives into lines and never holds more than one line and a chunk."""

    def __init__(self, descriptor: int, *, max_bytes: int) -> None:
        self._descriptor = descriptor
        self._max_bytes = max_bytes
        self._held = bytearray()
        self._searched = 0
        self._ended = False

    def next_line(self) -> bytes | None:
        """The next line without its newline, or `None` at the end; a last line needs no newline.

        Raises:
            LineTooLong: the line is over the limit.
            OSError: the descriptor cannot be read.
        """
        too_long = False
        while (end := self._held.find(b"\n", self._searched)) < 0 and not self._ended:
            if len(self._held) > self._max_bytes:
                too_long = True
                self._held.clear()
            self._searched = len(self._held)
            self._read()
        is_end = self._ended and not self._held
        if end < 0:
            end = len(self._held)
        line = bytes(self._held[:end])
        del self._held[: end + 1]
        self._searched = 0
        if too_long or len(line) > self._max_bytes:
            raise LineTooLong
        return None if is_end else line

    def _read(self) -> None:
        data = os.read(self._descriptor, _CHUNK_BYTES)
        self._held += data
        self._ended = not data

"""Reading one open file piece by piece from worker threads, also when its file system hangs."""

import os
from threading import Lock

PIECE = 256 * 1024
"""Bytes that a thread is asked for once."""


class SharedHandle:
    """A descriptor that threads read from and that somebody else gives up at any time.

    A thread that a file system holds cannot be ended, and a descriptor that is closed under it may be another file
    the next moment. So whoever comes last closes it.
    """

    def __init__(self) -> None:
        self._using = Lock()
        self._handle: int | None = None
        self._given_up = False

    def take(self, handle: int) -> int:
        """Keep a duplicate of an open descriptor; returns the size of its file. Blocks."""
        size = os.fstat(handle).st_size
        with self._using:
            self._handle = os.dup(handle)
        self._close_if_given_up()
        return size

    def read(self) -> bytes:
        """The next piece; empty at the end of the file, or when it was given up. Blocks."""
        with self._using:
            piece = b"" if self._handle is None else os.read(self._handle, PIECE)
        self._close_if_given_up()
        return piece

    def give_up(self) -> None:
        """Read no more; does not wait for a thread that does."""
        self._given_up = True
        self._close_if_given_up()

    def _close_if_given_up(self) -> None:
        if self._given_up and self._using.acquire(blocking=False):
            try:
                handle, self._handle = self._handle, None
                if handle is not None:
                    os.close(handle)
            finally:
                self._using.release()

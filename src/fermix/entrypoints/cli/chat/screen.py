"""A terminal with settled text above and, at its end, loose text that something else may take the place of."""

import os
from collections.abc import Callable
from typing import TextIO

from rich.cells import cell_len

TAB_COLUMNS = 4
_ERASE_BELOW = "\x1b[J"


class Screen:
    """Writes to the end of a terminal. Text comes in harmless: only newlines and tabs are obeyed.

    Loose text is broken into rows here and not by the terminal, so that it is known how many rows it fills and it
    can be taken back in one write. Where it cannot (it is taller than the screen, the window has changed, others
    have written meanwhile, the terminal cannot move its cursor) it stays as it is.
    """

    def __init__(self, out: TextIO, *, size: Callable[[], os.terminal_size], can_move: bool) -> None:
        self._out = out
        self._size = size
        self._can_move = can_move
        self._begun_at: os.terminal_size | None = None
        self._is_lost = False
        self._row = 0
        self._column = 0

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return self._size().columns

    @property
    def is_loose(self) -> bool:
        """Whether there is loose text."""
        return self._begun_at is not None

    @property
    def can_take_back(self) -> bool:
        """Whether what is loose, if anything, can be taken back."""
        if self._begun_at is None:
            return True
        can_move = self._can_move and not self._is_lost
        return can_move and self._size() == self._begun_at and self._row < self._begun_at.lines - 1

    @property
    def is_tall(self) -> bool:
        """Whether what is loose fills more than half of the screen."""
        return self._begun_at is not None and self._row > self._begun_at.lines // 2

    def add(self, text: str) -> None:
        """Write more loose text."""
        if self._begun_at is None and text:
            self._begun_at = self._size()
            self._is_lost = False
        self._send("".join(self._placed(char) for char in text))

    def settle(self, text: str) -> None:
        """Write whole lines in the place of what is loose, or below it where that cannot be taken back."""
        if self.can_take_back:
            self._send(self._taken_back() + text)
        else:
            self._send("\n" * bool(self._column) + text)
        self._begin_anew()

    def keep(self) -> None:
        """Let what is loose stand, and begin a new row."""
        if self._begun_at is not None:
            self._send("\n")
        self._begin_anew()

    def lose_place(self) -> None:
        """Take the cursor for moved by others: what is loose now is not taken back. Writes nothing."""
        self._is_lost = True

    def _placed(self, char: str) -> str:
        if char == "\n":
            self._row += 1
            self._column = 0
            return char
        shown = " " * (TAB_COLUMNS - self._column % TAB_COLUMNS) if char == "\t" else char
        width = cell_len(shown)
        if self._column + width >= self.columns and self._column:
            self._row += 1
            self._column = width
            return "\n" + shown
        self._column += width
        return shown

    def _taken_back(self) -> str:
        if self._begun_at is None:
            return ""
        up = f"\x1b[{self._row}A" if self._row else ""
        return f"\r{up}{_ERASE_BELOW}"

    def _begin_anew(self) -> None:
        self._begun_at = None
        self._is_lost = False
        self._row = 0
        self._column = 0

    def _send(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()

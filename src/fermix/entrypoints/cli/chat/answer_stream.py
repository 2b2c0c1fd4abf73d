"""An answer on a terminal: its words as they come, each finished block drawn in their place."""

from fermix.entrypoints.cli.chat.markdown import (
    BlockDrawing,
    is_between_blocks,
    last_block_line,
    last_item_line,
)
from fermix.entrypoints.cli.chat.screen import Screen
from fermix.entrypoints.cli.terminal_text import visible

_CHEAP_CHARACTERS = 4_000
"""A block up to this length is looked at again with each new line, a longer one when it has grown by a part."""

_PARTS = 16


class AnswerStream:
    """Shows one answer. Without a drawing the words stay as they came."""

    def __init__(self, screen: Screen, drawing: BlockDrawing | None) -> None:
        self._screen = screen
        self._drawing = drawing
        self._begin_anew()

    def add(self, text: str) -> None:
        """Show the next piece."""
        self._tail += visible(text)
        if not self._tail.strip():
            return
        self._show()
        if "\n" in text and len(self._tail) >= self._look_at:
            self._draw_finished()

    def end(self) -> None:
        """No more comes: draw what is left, and begin anew with the next piece."""
        if self._tail.strip():
            line = 0 if self._drawing is None else last_block_line(self._tail)
            if line and self._screen.can_take_back:
                finished = _first_lines(self._tail, line)
                self._settle(finished)
                self._go_on_after(finished, parts_list=False)
                self._show()
            self._settle(self._tail)
        self._begin_anew()

    def break_off(self) -> None:
        """No more comes, in the middle of something: what stands there stays."""
        self._screen.keep()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._tail = ""
        self._shown = 0
        self._look_at = 0
        self._is_first = True
        self._parts_list = False

    def _show(self) -> None:
        """Write what is new, but blank lines only once something follows them."""
        if not self._shown:
            self._tail = _without_blank_lines_before(self._tail)
            if not self._is_first and not self._parts_list and not self._screen.is_loose:
                self._screen.settle("\n")
        end = len(self._tail.rstrip("\n"))
        self._screen.add(self._tail[self._shown : end])
        self._shown = max(self._shown, end)

    def _draw_finished(self) -> None:
        is_fixed = self._drawing is None or not self._screen.can_take_back
        if is_fixed and not self._tail.endswith("\n\n"):
            return
        if len(self._tail) > _CHEAP_CHARACTERS:
            self._look_at = len(self._tail) * (_PARTS + 1) // _PARTS
        if is_fixed:
            # What stands there cannot be changed any more: begin anew where a new block can begin.
            if is_between_blocks(self._tail):
                self._screen.keep()
                self._go_on_after(self._tail, parts_list=False)
            return
        whole = self._tail[: self._tail.rfind("\n") + 1]
        line = last_block_line(whole)
        parts_list = not line and self._screen.is_tall and bool(line := last_item_line(whole))
        if line:
            finished = _first_lines(self._tail, line)
            self._settle(finished)
            self._go_on_after(finished, parts_list=parts_list)
            if self._tail.strip():
                self._show()

    def _settle(self, text: str) -> None:
        if self._drawing is None or not self._screen.can_take_back:
            self._screen.keep()
        else:
            self._screen.settle(self._drawing.draw(text.strip("\n"), columns=self._screen.columns))

    def _go_on_after(self, text: str, *, parts_list: bool) -> None:
        self._tail = self._tail[len(text) :]
        self._shown = 0
        self._look_at = 0
        self._is_first = False
        self._parts_list = parts_list


def _without_blank_lines_before(text: str) -> str:
    start = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, start) + 1 :]


def _first_lines(text: str, count: int) -> str:
    end = 0
    for _ in range(count):
        end = text.index("\n", end) + 1
    return text[:end]

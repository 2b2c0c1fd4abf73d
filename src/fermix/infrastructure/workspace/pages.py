"""Reading a page of lines out of a file of any size."""

import codecs
import io
from typing import BinaryIO

from fermix.application.ports.workspace import PathProblem, PathRefused, TextPage
from fermix.infrastructure.workspace.budget import Budget

PAGE_BYTES = 100 * 1024
"""A page holds no more than this."""

_CHUNK = 64 * 1024


def read_page(file: BinaryIO, *, name: str, first: int, count: int | None, budget: Budget) -> TextPage:
    """Lines of `file`, which is read from its beginning; only the page is kept in memory.

    A line ends at a line feed; what follows the last one is a line too, unless it is empty.

    Raises:
        PathRefused: a NUL byte says that this is no text.
        Spent: the page lies too far behind the beginning.
    """
    number = _skip(file, first, budget)
    if number < first:
        return TextPage(name=name, text="", first=number, lines=0, more=False)
    page = bytearray()
    lines, cut = 0, False
    while not cut and (count is None or lines < count) and (line := file.readline(PAGE_BYTES + 1)):
        budget.read(len(line))
        if len(page) + len(line) > PAGE_BYTES:
            if lines:
                file.seek(-len(line), io.SEEK_CUR)
                break
            cut = True
            if not line.endswith(b"\n"):
                _skip(file, 2, budget)
        page += line[:PAGE_BYTES]
        lines += 1
    if b"\0" in page:
        raise PathRefused(name, PathProblem.BINARY)
    if first == 1 and page.startswith(codecs.BOM_UTF8):
        del page[: len(codecs.BOM_UTF8)]
    text = page.decode(errors="replace")
    return TextPage(name=name, text=text, first=first, lines=lines, more=bool(file.read(1)), cut=cut)


def _skip(file: BinaryIO, line: int, budget: Budget) -> int:
    """Move to the start of `line`, counting the line here as 1; gives the line reached, at most the last + 1."""
    number, ended = 1, True
    while number < line and (chunk := file.readline(_CHUNK)):
        budget.read(len(chunk))
        ended = chunk.endswith(b"\n")
        number += ended
    return number if ended else number + 1

"""Tables in letters of one width, for chats that have none."""

from collections.abc import Callable, Sequence

from fermix.infrastructure.text.document import Inline, Table

_SPACES = str.maketrans("\n\t", "  ")


def drawn(table: Table, cell: Callable[[Sequence[Inline]], str]) -> list[str]:
    """The lines of a table, its columns under one another and a line below its heads.

    Args:
        table: what is drawn.
        cell: the words of one cell; their line breaks and tabs become spaces.
    """
    rows = [[cell(inner).translate(_SPACES) for inner in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return lines

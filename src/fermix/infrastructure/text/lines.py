"""A text as lines, for platforms that know no other form; each says how its own marks look."""

from collections.abc import Sequence
from typing import Protocol, assert_never

from fermix.infrastructure.text.document import (
    Block,
    CodeBlock,
    Heading,
    Inline,
    Items,
    Paragraph,
    Quote,
    Rule,
    Table,
)
from fermix.infrastructure.text.parsing import parse, tidy
from fermix.infrastructure.text.tables import drawn


class LineMarks(Protocol):
    """How one platform shows what is more than plain words. All of it is pure and total."""

    def literal(self, text: str) -> str:
        """A text in which the platform sees no code of its own."""
        ...

    def words(self, inner: Sequence[Inline]) -> str:
        """Words with their looks; they may have line breaks."""
        ...

    def unmarked(self, inner: Sequence[Inline]) -> str:
        """Words without their looks, as they stand in a table."""
        ...

    def heading(self, inner: Sequence[Inline]) -> list[str]:
        """The words of a heading as lines."""
        ...

    def quoted(self, lines: Sequence[str]) -> list[str]:
        """Lines, each marked as somebody else's."""
        ...

    def code(self, text: str) -> list[str]:
        """Code that is not empty, as lines."""
        ...

    def table(self, lines: Sequence[str]) -> list[str]:
        """The drawn lines of a table, so that their columns stay under one another."""
        ...


def shown(markdown: str, marks: LineMarks) -> str:
    """What a chat is to show; the raw text where nothing at all would be left (a lone rule, an empty link)."""
    source = tidy(markdown)
    lines = _blocks(parse(source).blocks, marks)
    return "\n".join(lines).strip("\n").rstrip() or marks.literal(source.strip())


def _blocks(blocks: Sequence[Block], marks: LineMarks) -> list[str]:
    """Blocks one under another, with an empty line between them where the source has one."""
    lines, apart = list[str](), False
    for block in blocks:
        apart = apart or block.apart
        if more := _block(block, marks):
            _add(lines, more, apart=apart)
            apart = False
    return lines


def _add(lines: list[str], more: Sequence[str], *, apart: bool) -> None:
    if apart and lines and lines[-1]:
        lines.append("")
    lines += more


def _block(block: Block, marks: LineMarks) -> list[str]:
    lines: list[str]
    match block:
        case Paragraph(inner=inner):
            lines = marks.words(inner).split("\n")
        case Heading(inner=inner):
            lines = marks.heading(inner)
        case Items():
            lines = _items(block, marks)
        case Quote(blocks=blocks):
            lines = marks.quoted(_blocks(blocks, marks))
        case CodeBlock(text=text, fence=fence, info=info):
            lines = marks.code(text) if text else [marks.literal(f"{fence}{info}")]
        case Table():
            lines = marks.table(drawn(block, marks.unmarked))
        case Rule():
            lines = []
        case _:
            assert_never(block)
    return lines


def _items(block: Items, marks: LineMarks) -> list[str]:
    """Items one under another; what follows the first line of one stands under its words."""
    lines: list[str] = []
    for item in block.items:
        first, *others = _blocks(item.blocks, marks) or [""]
        indent = " " * len(item.marker)
        more = [
            f"{item.marker}{first}".rstrip(),
            *[f"{indent}{line}" if line.strip() else "" for line in others],
        ]
        _add(lines, more, apart=item.apart)
    return lines

"""The agent's Markdown as Discord shows it: pure, total, and nothing that was written gets lost.

Discord reads Markdown itself, so the text stays as it is but for blocks that it does not know: a table is put into
a code block with its columns under one another, and a heading of the fourth level or lower becomes a bold line.
"""

import re
from collections.abc import Iterator, Sequence

from fermix.infrastructure.text.document import Document, Heading, Inline, Table, in_brackets, plain
from fermix.infrastructure.text.parsing import parse_commonmark, with_newlines
from fermix.infrastructure.text.tables import drawn

_LOW_HEADING = re.compile(r" {0,3}#{4,6}[ \t]+(?P<words>.+?)[ \t#]*")
_FENCE = "```"


def render(markdown: str) -> str:
    """What is to be sent."""
    text = with_newlines(markdown)
    if "|" not in text and "####" not in text:
        return text
    document = parse_commonmark(text)
    parts, done = list[str](), 0
    for block, place in _changed(document):
        parts += [*document.lines[done : place.start], block]
        done = place.stop
    return "\n".join([*parts, *document.lines[done:]])


def _changed(document: Document) -> Iterator[tuple[str, range]]:
    """What stands in place of which lines, from above to below."""
    for block in document.blocks:
        if block.lines.stop > len(document.lines):
            continue
        if isinstance(block, Table):
            yield _table(block), block.lines
        elif isinstance(block, Heading) and len(block.lines) == 1:
            found = _LOW_HEADING.fullmatch(document.lines[block.lines.start])
            if found is not None and "**" not in found["words"]:
                yield f"**{found['words']}**", block.lines


def _table(table: Table) -> str:
    lines = drawn(table, _words)
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(len(_FENCE), longest + 1)
    return "\n".join([fence, *lines, fence])


def _words(inner: Sequence[Inline]) -> str:
    return plain(inner, link=in_brackets, image=in_brackets)

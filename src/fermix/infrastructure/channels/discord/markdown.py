"""The agent's Markdown as Discord shows it: pure, total, and nothing that was written gets lost.

Discord reads Markdown itself, so the text stays as it is but for blocks that it does not know: a table is put into
a code block with its columns under one another, and a heading of the fourth level or lower becomes a bold line.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from fermix.domain.normalise import clean

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
_LOW_HEADING = re.compile(r" {0,3}#{4,6}[ \t]+(?P<words>.+?)[ \t#]*")
_FENCE = "```"


def render(markdown: str) -> str:
    """What is to be sent."""
    text = clean(markdown).replace("\r\n", "\n").replace("\r", "\n")
    if "|" not in text and "####" not in text:
        return text
    lines = text.split("\n")
    parts, done = list[str](), 0
    for block, first, last in _changed(SyntaxTreeNode(_PARSER.parse(text)).children, lines):
        if first >= done:
            parts += [*lines[done:first], block]
            done = last
    return "\n".join([*parts, *lines[done:]])


def _changed(nodes: Sequence[SyntaxTreeNode], lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """What stands in place of lines, from the first one to behind the last."""
    for node in nodes:
        if node.map is None or node.map[1] > len(lines):
            continue
        first, last = node.map
        if node.type == "table":
            yield _table(node), first, last
        elif node.type == "heading" and last == first + 1:
            found = _LOW_HEADING.fullmatch(lines[first])
            if found is not None and "**" not in found["words"]:
                yield f"**{found['words']}**", first, last


def _table(node: SyntaxTreeNode) -> str:
    rows = [
        [_plain(cell).replace("\n", " ") for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    drawn = [" | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    drawn.insert(1, "-+-".join("-" * width for width in widths))
    longest = max((len(run) for line in drawn for run in re.findall("`+", line)), default=0)
    fence = "`" * max(len(_FENCE), longest + 1)
    return "\n".join([fence, *drawn, fence])


def _plain(node: SyntaxTreeNode) -> str:
    """The words under a node without their looks; addresses of links stay readable."""
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    if not node.children:
        return node.content
    text = "".join(_plain(child) for child in node.children)
    url = str(node.attrs.get("href", node.attrs.get("src", "")))
    return f"{text} ({url})" if url and url != text else text

"""From Markdown to its tree; the only place that knows the parser.

Source of the language: https://spec.commonmark.org, with tables and strike-through as GitHub adds them
(https://github.github.com/gfm). HTML is text.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.tree import SyntaxTreeNode

from fermix.domain.normalise import clean
from fermix.infrastructure.text.document import (
    Block,
    Break,
    Code,
    CodeBlock,
    Document,
    Heading,
    Image,
    Inline,
    Item,
    Items,
    Link,
    Paragraph,
    Quote,
    Rule,
    Style,
    Styled,
    Table,
    Words,
)

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_TAB = 4
_STYLES = {"strong": Style.STRONG, "em": Style.EMPHASIS, "s": Style.STRUCK}


def with_newlines(text: str) -> str:
    """A text that can be stored and sent, whose lines all end in the same way."""
    return clean(text).replace("\r\n", "\n").replace("\r", "\n")


def tidy(text: str) -> str:
    """As `with_newlines`, with a space in place of each control character."""
    return _CONTROL.sub(" ", with_newlines(text))


def parse(source: str) -> Document:
    """The tree of what an agent writes, of a text that is tidy already.

    As CommonMark, but: one `*` inside a word (`2*3`, `a*b*c`) is a star, a definition of a link stays where it
    is, and an underlined line is a paragraph.
    """
    return _document(_LENIENT, source)


def parse_commonmark(source: str) -> Document:
    """The tree for a platform that reads CommonMark itself: nothing but tables is added, nothing taken away."""
    return _document(_STRICT, source)


def _no_emphasis_inside_words(state: StateInline, silent: bool) -> bool:
    at, text = state.pos, state.src
    if text[at] == "*" and 0 < at < state.posMax - 1 and text[at - 1].isalnum() and text[at + 1].isalnum():
        if not silent:
            state.pending += "*"
        state.pos += 1
        return True
    return emphasis.tokenize(state, silent)


def _lenient() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # A definition would vanish, and an underlined line is a rule under a paragraph more often than a heading.
    parser.disable(["reference", "lheading"])
    parser.inline.ruler.at("emphasis", _no_emphasis_inside_words)
    return parser


_LENIENT = _lenient()
_STRICT = MarkdownIt("commonmark", {"html": False}).enable("table")


def _document(parser: MarkdownIt, source: str) -> Document:
    lines = tuple(source.split("\n"))
    return Document(lines=lines, blocks=_Reader(lines).blocks(SyntaxTreeNode(parser.parse(source)).children))


class _Reader:
    """Walks the parser's tree of one text, whose depth the parser limits."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._readers: Mapping[str, Callable[[SyntaxTreeNode], Block]] = {
            "paragraph": self._paragraph,
            "heading": self._heading,
            "bullet_list": self._items,
            "ordered_list": self._items,
            "blockquote": self._quote,
            "fence": self._code,
            "code_block": self._code,
            "table": self._table,
            "hr": lambda node: Rule(lines=_lines(node), apart=self._apart(node)),
        }

    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> tuple[Block, ...]:
        return tuple([self._readers[node.type](node) for node in nodes])

    def _apart(self, node: SyntaxTreeNode) -> bool:
        above = node.map[0] - 1 if node.map else -1
        return 0 <= above < len(self._lines) and not self._lines[above].strip(" \t>")

    def _paragraph(self, node: SyntaxTreeNode) -> Paragraph:
        return Paragraph(lines=_lines(node), apart=self._apart(node), inner=_inner(node))

    def _heading(self, node: SyntaxTreeNode) -> Heading:
        return Heading(lines=_lines(node), apart=self._apart(node), inner=_inner(node))

    def _items(self, node: SyntaxTreeNode) -> Items:
        first = int(node.attrs.get("start", 1))
        items = [
            Item(
                lines=_lines(item),
                apart=self._apart(item),
                marker="• " if node.type == "bullet_list" else f"{number}. ",
                blocks=self.blocks(item.children),
            )
            for number, item in enumerate(node.children, start=first)
        ]
        return Items(lines=_lines(node), apart=self._apart(node), items=tuple(items))

    def _quote(self, node: SyntaxTreeNode) -> Quote:
        return Quote(lines=_lines(node), apart=self._apart(node), blocks=self.blocks(node.children))

    def _code(self, node: SyntaxTreeNode) -> CodeBlock:
        return CodeBlock(
            lines=_lines(node),
            apart=self._apart(node),
            text=node.content.strip("\n").rstrip().expandtabs(_TAB),
            info=node.info,
            fence=node.markup,
        )

    def _table(self, node: SyntaxTreeNode) -> Table:
        rows = [tuple(map(_inner, row.children)) for part in node.children for row in part.children]
        return Table(lines=_lines(node), apart=self._apart(node), rows=tuple(rows))


def _lines(node: SyntaxTreeNode) -> range:
    return range(*node.map) if node.map else range(0)


def _inner(node: SyntaxTreeNode) -> tuple[Inline, ...]:
    """The words of a block that holds nothing else."""
    return _inlines([child for inline in node.children for child in inline.children])


def _inlines(nodes: Sequence[SyntaxTreeNode]) -> tuple[Inline, ...]:
    return tuple(map(_inline, nodes))


def _inline(node: SyntaxTreeNode) -> Inline:
    match node.type:
        case "softbreak" | "hardbreak":
            return Break()
        case "code_inline":
            return Code(text=node.content)
        case "strong" | "em" | "s":
            return Styled(style=_STYLES[node.type], inner=_inlines(node.children))
        case "link":
            return Link(inner=_inlines(node.children), url=str(node.attrs.get("href", "")))
        case "image":
            return Image(inner=_inlines(node.children), url=str(node.attrs.get("src", "")))
        case _:
            return Words(text=node.content)

"""The agent's Markdown as Signal shows it: plain words without their marks, and nothing written gets lost."""

import re
from collections.abc import Callable, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.tree import SyntaxTreeNode

from fermix.domain.normalise import clean

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_CODE_INDENT = "    "
_TAB = 4


def _no_emphasis_inside_words(state: StateInline, silent: bool) -> bool:
    """As CommonMark, but one `*` inside a word (`2*3`) is a star."""
    at, text = state.pos, state.src
    if text[at] == "*" and 0 < at < state.posMax - 1 and text[at - 1].isalnum() and text[at + 1].isalnum():
        if not silent:
            state.pending += "*"
        state.pos += 1
        return True
    return emphasis.tokenize(state, silent)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # A definition would vanish, and an underlined line is a rule under a paragraph more often than a heading.
    parser.disable(["reference", "lheading"])
    parser.inline.ruler.at("emphasis", _no_emphasis_inside_words)
    return parser


_PARSER = _parser()


def plain(markdown: str) -> str:
    """What a chat is to show; the raw text where nothing would be left (a lone rule)."""
    source = _CONTROL.sub(" ", clean(markdown).replace("\r\n", "\n").replace("\r", "\n"))
    lines = _Blocks(source.split("\n")).of(SyntaxTreeNode(_PARSER.parse(source)).children)
    text = "\n".join(lines).strip("\n").rstrip()
    return text if text.strip() else source.strip()


class _Blocks:
    """Turns the blocks of one text into lines. The parser limits how deep they lie in each other."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source
        self._handlers: Mapping[str, Callable[[SyntaxTreeNode], list[str]]] = {
            "inline": lambda node: _words(node).split("\n"),
            "heading": lambda node: [*self.of(node.children), ""],
            "bullet_list": self._list,
            "ordered_list": self._list,
            "blockquote": lambda node: [f"> {line}".rstrip() for line in self.of(node.children)],
            "fence": _code,
            "code_block": _code,
            "table": _table,
            "hr": lambda _node: [],
        }

    def of(self, nodes: Sequence[SyntaxTreeNode]) -> list[str]:
        """Blocks one under another, with an empty line between them where the source has one."""
        lines: list[str] = []
        for node in nodes:
            if lines and lines[-1] and self._stands_apart(node):
                lines.append("")
            handler = self._handlers.get(node.type)
            if handler is not None:
                lines += handler(node)
            elif node.children:
                lines += self.of(node.children)
            else:
                lines += node.content.split("\n")
        return lines

    def _stands_apart(self, node: SyntaxTreeNode) -> bool:
        above = node.map[0] - 1 if node.map else -1
        return 0 <= above < len(self._source) and not self._source[above].strip(" \t>")

    def _list(self, node: SyntaxTreeNode) -> list[str]:
        first = int(node.attrs.get("start", 1))
        lines: list[str] = []
        for number, item in enumerate(node.children, start=first):
            if lines and lines[-1] and self._stands_apart(item):
                lines.append("")
            marker = "• " if node.type == "bullet_list" else f"{number}. "
            head, *rest = self.of(item.children) or [""]
            lines.append((marker + head).rstrip())
            lines += [(" " * len(marker) + line).rstrip() for line in rest]
        return lines


def _code(node: SyntaxTreeNode) -> list[str]:
    text = node.content.strip("\n").rstrip().expandtabs(_TAB)
    if not text.strip():
        return [f"{node.markup}{node.info}"]
    return [f"{_CODE_INDENT}{line}".rstrip() for line in text.split("\n")]


def _table(node: SyntaxTreeNode) -> list[str]:
    rows = [
        [_words(cell).replace("\n", " ") for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return lines


def _words(node: SyntaxTreeNode) -> str:
    """The words under a node without their looks; the address of a link follows its label."""
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    words = "".join(map(_words, node.children)) if node.children else node.content
    url = str(node.attrs.get("href" if node.type == "link" else "src", ""))
    if node.type not in {"link", "image"} or not url or words.strip() == url:
        return words
    return f"{words.strip()}: {url}" if words.strip() else url

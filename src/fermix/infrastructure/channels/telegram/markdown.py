"""The agent's Markdown as Telegram shows it: pure, total, and nothing that was written gets lost."""

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.tree import SyntaxTreeNode

from fermix.domain.normalise import clean
from fermix.infrastructure.channels.telegram.rich_text import (
    CODE,
    LINK,
    LONG_QUOTE,
    PRE,
    QUOTE,
    RichText,
    Writer,
)

_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")
_LONG_QUOTE_LINES = 3
_LONG_QUOTE_CHARACTERS = 400
_TAB = 4


def _no_emphasis_inside_words(state: StateInline, silent: bool) -> bool:
    """As CommonMark, but one `*` inside a word (`2*3`, `a*b*c`) is a star."""
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


def render(markdown: str) -> RichText:
    """What a chat is to show; the raw text where nothing at all would be left (a lone rule, an empty link)."""
    source = _CONTROL.sub(" ", clean(markdown).replace("\r\n", "\n").replace("\r", "\n"))
    writer = Writer()
    _Renderer(writer, source.split("\n")).blocks(SyntaxTreeNode(_PARSER.parse(source)).children)
    rich = writer.finish()
    return rich if rich.text else RichText(text=source.strip())


class _Renderer:
    """Walks the tree of one text. The parser limits how deep it is."""

    def __init__(self, writer: Writer, lines: Sequence[str]) -> None:
        self._writer = writer
        self._lines = lines
        self._handlers: Mapping[str, Callable[[SyntaxTreeNode], None]] = {
            "inline": lambda node: self._inline(node.children),
            "heading": self._heading,
            "bullet_list": self._list,
            "ordered_list": self._list,
            "blockquote": self._quote,
            "fence": self._code_block,
            "code_block": self._code_block,
            "table": self._table,
            "hr": lambda _node: None,
        }

    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> None:
        """Blocks one under another, with an empty line between them where the source has one."""
        for number, node in enumerate(nodes):
            if number:
                self._writer.break_lines(2 if self._stands_apart(node) else 1)
            self._block(node)

    def _stands_apart(self, node: SyntaxTreeNode) -> bool:
        above = node.map[0] - 1 if node.map else -1
        return 0 <= above < len(self._lines) and not self._lines[above].strip(" \t>")

    def _block(self, node: SyntaxTreeNode) -> None:
        handler = self._handlers.get(node.type)
        if handler is not None:
            handler(node)
        elif node.children:
            self.blocks(node.children)
        else:
            self._writer.write(node.content)

    def _heading(self, node: SyntaxTreeNode) -> None:
        with self._writer.span("bold"):
            self.blocks(node.children)

    def _list(self, node: SyntaxTreeNode) -> None:
        start = int(node.attrs.get("start", 1))
        for number, item in enumerate(node.children):
            if number:
                self._writer.break_lines(2 if self._stands_apart(item) else 1)
            marker = "• " if node.type == "bullet_list" else f"{start + number}. "
            self._writer.new_line()
            self._writer.write(marker)
            with self._writer.indented(" " * len(marker)):
                self.blocks(item.children)

    def _quote(self, node: SyntaxTreeNode) -> None:
        first, last = node.map or (0, 0)
        lines = self._lines[first:last]
        long = len(lines) > _LONG_QUOTE_LINES or sum(map(len, lines)) > _LONG_QUOTE_CHARACTERS
        self._writer.new_line()
        if self._writer.inside(QUOTE, LONG_QUOTE):
            self.blocks(node.children)
            return
        with self._writer.span(LONG_QUOTE if long else QUOTE):
            self.blocks(node.children)

    def _code_block(self, node: SyntaxTreeNode) -> None:
        language = _LANGUAGE.match(node.info.strip()) if node.type == "fence" else None
        if node.content.strip():
            self._pre(node.content, None if language is None else language[0])
        else:
            self._writer.write(f"{node.markup}{node.info}")

    def _pre(self, text: str, language: str | None = None) -> None:
        text = text.strip("\n").rstrip().expandtabs(_TAB)
        self._writer.new_line()
        with self._writer.alone(PRE, language=language):
            self._writer.write_exactly(text)
        self._writer.break_lines(1)

    def _table(self, node: SyntaxTreeNode) -> None:
        rows = [
            [_plain(cell).replace("\n", " ") for cell in row.children]
            for part in node.children
            for row in part.children
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        self._pre("\n".join(lines))

    def _inline(self, nodes: Sequence[SyntaxTreeNode]) -> None:
        for node in nodes:
            match node.type:
                case "softbreak" | "hardbreak":
                    self._writer.break_lines(1)
                case "code_inline":
                    with self._writer.alone(CODE):
                        self._writer.write(node.content)
                case "strong" | "em" | "s":
                    with self._writer.span(_STYLES[node.type]):
                        self._inline(node.children)
                case "link":
                    self._link(node, str(node.attrs.get("href", "")))
                case "image":
                    self._link(node, str(node.attrs.get("src", "")))
                case _:
                    self._writer.write(node.content)

    def _link(self, node: SyntaxTreeNode, url: str) -> None:
        label = _plain(node).strip()
        if not label or label == url:
            self._writer.write(url)
        elif _is_linkable(url):
            with self._writer.span(LINK, url=url):
                self._inline(node.children)
        else:
            self._inline(node.children)
            if url:
                self._writer.write(f" ({url})")


def _plain(node: SyntaxTreeNode) -> str:
    """The words under a node without their looks; addresses of links stay readable."""
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    if not node.children:
        return node.content
    text = "".join(_plain(child) for child in node.children)
    url = str(node.attrs.get("href", ""))
    return f"{text} ({url})" if node.type == "link" and url and url != text else text


def _is_linkable(url: str) -> bool:
    """Whether Telegram takes it behind a label; it refuses hosts without a dot and unknown schemes."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return False
    return (
        parts.scheme in {"http", "https"}
        and not any(letter.isspace() for letter in url)
        and _HOST.fullmatch(host) is not None
    )

"""The agent's Markdown as Telegram shows it: pure, total, and nothing that was written gets lost."""

import re
from collections.abc import Sequence
from typing import assert_never
from urllib.parse import urlsplit

from fermix.infrastructure.channels.telegram.rich_text import (
    CODE,
    LINK,
    LONG_QUOTE,
    PRE,
    QUOTE,
    RichText,
    Writer,
)
from fermix.infrastructure.text.document import (
    Block,
    Break,
    Code,
    CodeBlock,
    Heading,
    Image,
    Inline,
    Items,
    Link,
    Paragraph,
    Quote,
    Rule,
    Style,
    Styled,
    Table,
    Words,
    in_brackets,
    plain,
)
from fermix.infrastructure.text.parsing import parse, tidy
from fermix.infrastructure.text.tables import drawn

_STYLES = {Style.STRONG: "bold", Style.EMPHASIS: "italic", Style.STRUCK: "strikethrough"}
_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}")
_LONG_QUOTE_LINES = 3
_LONG_QUOTE_CHARACTERS = 400


def render(markdown: str) -> RichText:
    """What a chat is to show; the raw text where nothing at all would be left (a lone rule, an empty link)."""
    source = tidy(markdown)
    document, writer = parse(source), Writer()
    _Renderer(writer, document.lines).blocks(document.blocks)
    rich = writer.finish()
    return rich if rich.text else RichText(text=source.strip())


class _Renderer:
    """Writes the blocks of one text, whose source has these lines."""

    def __init__(self, writer: Writer, lines: Sequence[str]) -> None:
        self._writer = writer
        self._lines = lines

    def blocks(self, blocks: Sequence[Block]) -> None:
        """Blocks one under another, with an empty line between them where the source has one."""
        for number, block in enumerate(blocks):
            if number:
                self._writer.break_lines(2 if block.apart else 1)
            self._block(block)

    def _block(self, block: Block) -> None:
        match block:
            case Paragraph(inner=inner):
                self._inline(inner)
            case Heading(inner=inner):
                with self._writer.span("bold"):
                    self._inline(inner)
            case Items():
                self._items(block)
            case Quote():
                self._quote(block)
            case CodeBlock():
                self._code_block(block)
            case Table():
                self._pre("\n".join(drawn(block, _words)))
            case Rule():
                pass
            case _:
                assert_never(block)

    def _items(self, block: Items) -> None:
        for number, item in enumerate(block.items):
            if number:
                self._writer.break_lines(2 if item.apart else 1)
            self._writer.new_line()
            self._writer.write(item.marker)
            with self._writer.indented(" " * len(item.marker)):
                self.blocks(item.blocks)

    def _quote(self, quote: Quote) -> None:
        lines = self._lines[quote.lines.start : quote.lines.stop]
        long = len(lines) > _LONG_QUOTE_LINES or sum(map(len, lines)) > _LONG_QUOTE_CHARACTERS
        self._writer.new_line()
        if self._writer.inside(QUOTE, LONG_QUOTE):
            self.blocks(quote.blocks)
            return
        with self._writer.span(LONG_QUOTE if long else QUOTE):
            self.blocks(quote.blocks)

    def _code_block(self, block: CodeBlock) -> None:
        language = _LANGUAGE.match(block.info.strip())
        if block.text:
            self._pre(block.text, None if language is None else language[0])
        else:
            self._writer.write(f"{block.fence}{block.info}")

    def _pre(self, text: str, language: str | None = None) -> None:
        self._writer.new_line()
        with self._writer.alone(PRE, language=language):
            self._writer.write_exactly(text)
        self._writer.break_lines(1)

    def _inline(self, nodes: Sequence[Inline]) -> None:
        for node in nodes:
            match node:
                case Words(text=text):
                    self._writer.write(text)
                case Break():
                    self._writer.break_lines(1)
                case Code(text=text):
                    with self._writer.alone(CODE):
                        self._writer.write(text)
                case Styled(style=style, inner=inner):
                    with self._writer.span(_STYLES[style]):
                        self._inline(inner)
                case Link() | Image():
                    self._link(node)
                case _:
                    assert_never(node)

    def _link(self, link: Link | Image) -> None:
        if _words(link.inner).strip() in {"", link.url}:
            self._writer.write(link.url)
        elif _is_linkable(link.url):
            with self._writer.span(LINK, url=link.url):
                self._inline(link.inner)
        else:
            self._inline(link.inner)
            if link.url:
                self._writer.write(f" ({link.url})")


def _words(inner: Sequence[Inline]) -> str:
    return plain(inner, link=in_brackets)


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

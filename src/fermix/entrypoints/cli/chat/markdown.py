"""Markdown as it is said in a chat: where its blocks begin, and how one looks on a terminal."""

import io
from collections.abc import Mapping, Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.theme import Theme
from typing_extensions import override

from fermix.entrypoints.cli.chat.screen import TAB_COLUMNS
from fermix.entrypoints.cli.terminal_text import visible

_THEME = Theme({"markdown.code": "bold cyan"})
"""Without rich's black background, which tears holes into a light terminal."""

_INDENT_COLUMNS = 4
_LEAST_COLUMNS = 8
"""What a nested block must have left beside its indents to be worth drawing."""

_MAX_HIGHLIGHTED_CHARACTERS = 20_000
"""Of code: colouring is done by patterns whose time somebody else's text decides."""


def last_block_line(text: str) -> int:
    """The line at which the last block begins; 0 while there is only one. Blocks before it do not change any more.

    A list may be cut where its last item begins; see `last_item_line`.
    """
    tops = [token for token in _parse(text) if token.level == 0 and token.map]
    starts = [token.map[0] for token in tops if token.map]
    return starts[-1] if len(starts) > 1 else 0


def last_item_line(text: str) -> int:
    """The line at which the last item of a list that is the only block begins; 0 where there is none to part."""
    tokens = _parse(text)
    if sum(token.level == 0 and token.map is not None for token in tokens) != 1:
        return 0
    items = [
        token.map[0] for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map
    ]
    return items[-1] if len(items) > 1 else 0


def is_between_blocks(text: str) -> bool:
    """Whether a paragraph that came now would be a block of its own."""
    following = "\n\nx\n"
    starts = [token.map[0] for token in _parse(text + following) if token.level == 0 and token.map]
    return bool(starts) and starts[-1] == text.count("\n") + 2


class BlockDrawing:
    """Draws blocks of Markdown with the styles that a terminal has."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    def draw(self, text: str, *, columns: int) -> str:
        """One or more blocks as lines, each with its newline; the only escape sequences in them are styles.

        Args:
            text: harmless already, as of `visible`. What its entities (`&#x202e;`) stand for is made so here.
            columns: of the terminal.
        """
        tokens = _parse(text)
        depth = max((token.level for token in tokens), default=0)
        if columns - _INDENT_COLUMNS * depth < _LEAST_COLUMNS:
            return f"{text.expandtabs(TAB_COLUMNS)}\n"
        out = io.StringIO()
        console = Console(
            file=out,
            width=columns,
            tab_size=TAB_COLUMNS,
            force_terminal=True,
            highlight=False,
            emoji=False,
            markup=False,
            legacy_windows=False,
            theme=_THEME,
            _environ=self._environ,
        )
        console.print(_Harmless(_ChatMarkdown(text, tokens)), end="")
        return out.getvalue()


def _parse(text: str) -> list[Token]:
    """The tokens; HTML is text here, since a terminal shows none, and a line break is one, as people mean it."""
    tokens = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).parse(text)
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return tokens


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {f"h{level}": "left" for level in range(1, 7)}


class _PlainCode(CodeBlock):
    """Code from the first column and without a background, so that it can be copied."""

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        lexer = self.lexer_name if len(code) <= _MAX_HIGHLIGHTED_CHARACTERS else "text"
        yield Syntax(code, lexer, theme="ansi_dark", word_wrap=True, background_color="default")


class _ChatMarkdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = list(tokens)


class _Harmless:
    """A drawing whose texts cannot steer a terminal; no blanks end its lines, no blank lines stand around it."""

    def __init__(self, drawing: Markdown) -> None:
        self._drawing = drawing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [
            _trimmed([segment for segment in line if not segment.control])
            for line in console.render_lines(self._drawing, options, pad=False)
        ]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        for line in lines:
            for segment in line:
                yield Segment(visible(segment.text), segment.style)
            yield Segment.line()


def _trimmed(line: list[Segment]) -> list[Segment]:
    while line and not line[-1].text.rstrip():
        line = line[:-1]
    if not line:
        return []
    last = line[-1]
    return [*line[:-1], Segment(last.text.rstrip(), last.style)]

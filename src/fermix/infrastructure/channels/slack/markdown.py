"""The agent's Markdown in Slack's own marks: pure, total, and in a form that can call nobody.

Whatever stands between `<` and `>` is a code to Slack: somebody who is called, everybody in a room, a link. So
both are escaped, and the only codes that leave are links. A mark cannot be shown as itself: a `*word*` that the
agent meant as it stands is shown bold. Source: https://docs.slack.dev/messaging/formatting-message-text.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.tree import SyntaxTreeNode

from fermix.domain.normalise import clean

_STYLES = {"strong": "*", "em": "_", "s": "~"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_WIDE = str.maketrans({"&": "\uff06", "<": "\uff1c", ">": "\uff1e"})
_IN_URL = str.maketrans({"<": "%3C", ">": "%3E", "|": "%7C", '"': "%22", "\\": "%5C"})
_LINKABLE = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)
_FENCE = "```"
_APART = "\u200b"
"""Stands between marks that would end a code block too early; nobody sees it."""

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


def escape(text: str) -> str:
    """A text in which nothing is a code."""
    return text.translate(_ESCAPES)


def render(markdown: str) -> str:
    """What a chat is to show; the raw text where nothing at all would be left (a lone rule, an empty link)."""
    source = _tidy(markdown)
    lines = _Renderer(source.split("\n")).blocks(SyntaxTreeNode(_PARSER.parse(source)).children)
    return "\n".join(lines).strip("\n").rstrip() or escape(source.strip())


def within(markdown: str, *, limit: int) -> str:
    """As `render` in at most `limit` characters, of a text that has no more itself.

    Escapes make a text longer. Where it does not fit with its marks it leaves without them, and where that is too
    long as well its three special characters become their wide look-alikes.
    """
    rendered = render(markdown)
    if len(rendered) <= limit:
        return rendered
    plain = _tidy(markdown)
    escaped = escape(plain)
    return escaped if len(escaped) <= limit else plain.translate(_WIDE)


def _tidy(markdown: str) -> str:
    return _CONTROL.sub(" ", clean(markdown).replace("\r\n", "\n").replace("\r", "\n"))


class _Renderer:
    """Walks the tree of one text, whose depth the parser limits. Blocks become lines, without line breaks."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source
        self._handlers: Mapping[str, Callable[[SyntaxTreeNode], list[str]]] = {
            "inline": lambda node: _inline(node.children).split("\n"),
            "heading": _heading,
            "bullet_list": self._list,
            "ordered_list": self._list,
            "blockquote": self._quote,
            "fence": _code_block,
            "code_block": _code_block,
            "table": _table,
            "hr": lambda _node: [],
        }

    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> list[str]:
        """Blocks one under another, with an empty line between them where the source has one."""
        lines: list[str] = []
        for node in nodes:
            shown = self._block(node)
            if lines and shown and self._stands_apart(node):
                lines.append("")
            lines += shown
        return lines

    def _stands_apart(self, node: SyntaxTreeNode) -> bool:
        above = node.map[0] - 1 if node.map else -1
        return 0 <= above < len(self._source) and not self._source[above].strip(" \t>")

    def _block(self, node: SyntaxTreeNode) -> list[str]:
        handler = self._handlers.get(node.type)
        if handler is not None:
            return handler(node)
        return self.blocks(node.children) if node.children else escape(node.content).split("\n")

    def _list(self, node: SyntaxTreeNode) -> list[str]:
        start, lines = int(node.attrs.get("start", 1)), list[str]()
        for number, item in enumerate(node.children):
            if number and self._stands_apart(item):
                lines.append("")
            marker = "• " if node.type == "bullet_list" else f"{start + number}. "
            first, *others = self.blocks(item.children) or [""]
            lines.append(f"{marker}{first}".rstrip())
            lines += [f"{' ' * len(marker)}{line}" if line else "" for line in others]
        return lines

    def _quote(self, node: SyntaxTreeNode) -> list[str]:
        """One `>` before each line; a quote inside a quote looks like the one around it."""
        inner = self.blocks(node.children)
        return [line if line.startswith(">") else f"> {line}".rstrip() for line in inner]


def _heading(node: SyntaxTreeNode) -> list[str]:
    inner = [child for one in node.children for child in one.children]
    return _inline(inner, frozenset("*"), "*").split("\n")


def _code_block(node: SyntaxTreeNode) -> list[str]:
    if not node.content.strip():
        return [escape(f"{node.markup}{node.info}")]
    return _fenced(node.content.strip("\n").rstrip().expandtabs(_TAB))


def _fenced(text: str) -> list[str]:
    return [_FENCE, *escape(text.replace(_FENCE, _APART.join(_FENCE))).split("\n"), _FENCE]


def _table(node: SyntaxTreeNode) -> list[str]:
    rows = [
        [_plain(cell).replace("\n", " ") for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return _fenced("\n".join(lines))


def _inline(nodes: Sequence[SyntaxTreeNode], open_marks: frozenset[str] = frozenset(), mark: str = "") -> str:
    """Words with their marks; `mark` goes around all of them, and around none twice."""
    text = "".join(_piece(node, open_marks) for node in nodes)
    return "\n".join(_marked(line, mark) for line in text.split("\n")) if mark else text


def _piece(node: SyntaxTreeNode, open_marks: frozenset[str]) -> str:
    match node.type:
        case "softbreak" | "hardbreak":
            shown = "\n"
        case "code_inline":
            shown = escape(node.content if "`" in node.content else f"`{node.content}`")
        case "strong" | "em" | "s":
            mark = _STYLES[node.type]
            shown = _inline(node.children, open_marks | {mark}, "" if mark in open_marks else mark)
        case "link":
            shown = _link(_plain(node), str(node.attrs.get("href", "")))
        case "image":
            shown = _link(_plain(node), str(node.attrs.get("src", "")))
        case _:
            shown = _inline(node.children, open_marks) if node.children else escape(node.content)
    return shown


def _marked(line: str, mark: str) -> str:
    """A line with its mark, which touches no white space."""
    core = line.strip()
    if not core:
        return line
    lead, trail = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    return f"{lead}{mark}{core}{mark}{trail}"


def _link(label: str, url: str) -> str:
    """A link with its label; an address that Slack does not link stands behind its label."""
    shown = " ".join(label.split())
    if not _LINKABLE.fullmatch(url):
        return escape(f"{shown} ({url})" if url and shown and shown != url else shown or url)
    address = escape(url.translate(_IN_URL))
    if not shown or shown == url:
        return f"<{address}>"
    return f"<{address}|{escape(shown.replace('|', '¦'))}>"


def _plain(node: SyntaxTreeNode) -> str:
    """The words under a node without their looks; addresses of links stay readable."""
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    if not node.children:
        return node.content
    return "".join(_plain_within(child) for child in node.children)


def _plain_within(node: SyntaxTreeNode) -> str:
    text, url = _plain(node), str(node.attrs.get("href", ""))
    return f"{text} ({url})" if node.type == "link" and url and url != text else text

"""The agent's Markdown in Slack's own marks: pure, total, and in a form that can call nobody.

Whatever stands between `<` and `>` is a code to Slack: somebody who is called, everybody in a room, a link. So
both are escaped, and the only codes that leave are links. A mark cannot be shown as itself: a `*word*` that the
agent meant as it stands is shown bold. Source: https://docs.slack.dev/messaging/formatting-message-text.
"""

import re
from collections.abc import Sequence

from fermix.infrastructure.text.document import Inline, in_brackets, plain
from fermix.infrastructure.text.lines import shown
from fermix.infrastructure.text.marked import bold_lines, marked
from fermix.infrastructure.text.parsing import tidy

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_WIDE = str.maketrans({"&": "\uff06", "<": "\uff1c", ">": "\uff1e"})
_IN_URL = str.maketrans({"<": "%3C", ">": "%3E", "|": "%7C", '"': "%22", "\\": "%5C"})
_LINKABLE = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)
_FENCE = "```"
_APART = "\u200b"
"""Stands between marks that would end a code block too early; nobody sees it."""


def escape(text: str) -> str:
    """A text in which nothing is a code."""
    return text.translate(_ESCAPES)


def render(markdown: str) -> str:
    """What a chat is to show; the raw text where nothing at all would be left (a lone rule, an empty link)."""
    return shown(markdown, _MARKS)


def within(markdown: str, *, limit: int) -> str:
    """As `render` in at most `limit` characters, of a text that has no more itself.

    Escapes make a text longer. Where it does not fit with its marks it leaves without them, and where that is too
    long as well its three special characters become their wide look-alikes.
    """
    rendered = render(markdown)
    if len(rendered) <= limit:
        return rendered
    unmarked = tidy(markdown)
    escaped = escape(unmarked)
    return escaped if len(escaped) <= limit else unmarked.translate(_WIDE)


class _Marks:
    """Slack's, as `LineMarks` and `WordMarks` ask for them."""

    marks_in_labels = False

    def literal(self, text: str) -> str:
        return escape(text)

    def words(self, inner: Sequence[Inline]) -> str:
        return marked(inner, self)

    def unmarked(self, inner: Sequence[Inline]) -> str:
        return plain(inner, link=in_brackets)

    def heading(self, inner: Sequence[Inline]) -> list[str]:
        return bold_lines(inner, self)

    def quoted(self, lines: Sequence[str]) -> list[str]:
        """One `>` before each line; a quote inside a quote looks like the one around it."""
        return [line if line.startswith(">") else f"> {line}".rstrip() for line in lines]

    def code(self, text: str) -> list[str]:
        return [_FENCE, *escape(text.replace(_FENCE, _APART.join(_FENCE))).split("\n"), _FENCE]

    def table(self, lines: Sequence[str]) -> list[str]:
        return self.code("\n".join(lines))

    def code_word(self, text: str) -> str:
        return escape(text if "`" in text else f"`{text}`")

    def link(self, label: str, url: str) -> str:
        """A link with its label; an address that Slack does not link stands behind its label."""
        words = " ".join(label.split())
        if not _LINKABLE.fullmatch(url):
            return escape(in_brackets(words, url))
        address = escape(url.translate(_IN_URL))
        return f"<{address}>" if words in {"", url} else f"<{address}|{escape(words.replace('|', '¦'))}>"


_MARKS = _Marks()

"""The agent's Markdown in WhatsApp's own marks: pure, total, and nothing that was written gets lost.

WhatsApp has no way to show a mark as itself: a `*word*` that the agent meant as it stands is shown bold. Source:
https://faq.whatsapp.com/539178204879377.
"""

from collections.abc import Sequence

from fermix.infrastructure.text.document import Inline, after_colon, plain
from fermix.infrastructure.text.lines import shown
from fermix.infrastructure.text.marked import bold_lines, marked

_FENCE = "```"


def render(markdown: str) -> str:
    """What a chat is to show; the raw text where nothing at all would be left (a lone rule, an empty link)."""
    return shown(markdown, _MARKS)


class _Marks:
    """WhatsApp's, as `LineMarks` and `WordMarks` ask for them."""

    marks_in_labels = True

    def literal(self, text: str) -> str:
        return text

    def words(self, inner: Sequence[Inline]) -> str:
        return marked(inner, self)

    def unmarked(self, inner: Sequence[Inline]) -> str:
        return plain(inner, link=after_colon)

    def heading(self, inner: Sequence[Inline]) -> list[str]:
        return bold_lines(inner, self)

    def quoted(self, lines: Sequence[str]) -> list[str]:
        """One `>` before each line; a quote inside a quote looks like the one around it."""
        return [line if line.startswith("> ") else f"> {line}".rstrip() for line in lines]

    def code(self, text: str) -> list[str]:
        return self.table(text.split("\n"))

    def table(self, lines: Sequence[str]) -> list[str]:
        return [_FENCE, *lines, _FENCE]

    def code_word(self, text: str) -> str:
        if "`" not in text:
            return f"`{text}`"
        return f"{_FENCE}{text}{_FENCE}" if _FENCE not in text else text

    def link(self, label: str, url: str) -> str:
        return url if label.strip() in {"", url} else after_colon(label, url)


_MARKS = _Marks()

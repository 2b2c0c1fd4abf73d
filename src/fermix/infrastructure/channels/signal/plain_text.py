"""The agent's Markdown as Signal shows it: plain words without their marks, and nothing written gets lost."""

from collections.abc import Sequence

from fermix.infrastructure.text.document import Inline
from fermix.infrastructure.text.document import plain as plain_words
from fermix.infrastructure.text.lines import shown

_CODE_INDENT = "    "


def plain(markdown: str) -> str:
    """What a chat is to show; the raw text where nothing would be left (a lone rule)."""
    return shown(markdown, _MARKS)


class _Marks:
    """Signal's, as `LineMarks` asks for them: what a person would type who has no marks."""

    def literal(self, text: str) -> str:
        return text

    def words(self, inner: Sequence[Inline]) -> str:
        return plain_words(inner, link=_addressed, image=_addressed)

    def unmarked(self, inner: Sequence[Inline]) -> str:
        return self.words(inner)

    def heading(self, inner: Sequence[Inline]) -> list[str]:
        """With an empty line below, since nothing else tells that it is one."""
        return [*self.words(inner).split("\n"), ""]

    def quoted(self, lines: Sequence[str]) -> list[str]:
        return [f"> {line}".rstrip() for line in lines]

    def code(self, text: str) -> list[str]:
        return [f"{_CODE_INDENT}{line}".rstrip() for line in text.split("\n")]

    def table(self, lines: Sequence[str]) -> list[str]:
        return list(lines)


def _addressed(words: str, url: str) -> str:
    """The address follows its label, or stands for itself."""
    label = words.strip()
    if not url or label == url:
        return words
    return f"{label}: {url}" if label else url


_MARKS = _Marks()

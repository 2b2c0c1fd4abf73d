"""Words between marks, as WhatsApp and Slack both have them: `*bold*`, `_italic_`, `~struck~`."""

from collections.abc import Sequence
from typing import Protocol, assert_never

from fermix.infrastructure.text.document import Break, Code, Image, Inline, Link, Style, Styled, Words

BOLD = "*"
_MARKS = {Style.STRONG: BOLD, Style.EMPHASIS: "_", Style.STRUCK: "~"}


class WordMarks(Protocol):
    """How one platform shows what stands among words."""

    @property
    def marks_in_labels(self) -> bool:
        """Whether the words of a link keep their looks."""
        ...

    def literal(self, text: str) -> str:
        """A text in which the platform sees no code of its own."""
        ...

    def code_word(self, text: str) -> str:
        """Code among words."""
        ...

    def unmarked(self, inner: Sequence[Inline]) -> str:
        """Words without their looks, not yet literal."""
        ...

    def link(self, label: str, url: str) -> str:
        """A link or a picture; of the latter `label` is without marks, whatever links have."""
        ...


def marked(inner: Sequence[Inline], marks: WordMarks) -> str:
    """Words with their marks, of which none stands inside itself."""
    return _marked(inner, marks, frozenset())


def bold_lines(inner: Sequence[Inline], marks: WordMarks) -> list[str]:
    """Words as bold lines, as they stand in for a heading."""
    return _between(BOLD, _marked(inner, marks, frozenset({BOLD}))).split("\n")


def _marked(inner: Sequence[Inline], marks: WordMarks, around: frozenset[str]) -> str:
    return "".join([_piece(node, marks, around) for node in inner])


def _piece(node: Inline, marks: WordMarks, around: frozenset[str]) -> str:
    match node:
        case Words(text=text):
            return marks.literal(text)
        case Break():
            return "\n"
        case Code(text=text):
            return marks.code_word(text)
        case Styled(style=style, inner=inner):
            mark = _MARKS[style]
            text = _marked(inner, marks, around | {mark})
            return text if mark in around else _between(mark, text)
        case Link(inner=inner, url=url) if marks.marks_in_labels:
            return marks.link(_marked(inner, marks, around), url)
        case Link(inner=inner, url=url) | Image(inner=inner, url=url):
            return marks.link(marks.unmarked(inner), url)
        case _:
            assert_never(node)


def _between(mark: str, text: str) -> str:
    """Each line between its marks, which touch no white space; a line of nothing else gets none."""
    return "\n".join([_line_between(mark, line) for line in text.split("\n")])


def _line_between(mark: str, line: str) -> str:
    core = line.strip()
    if not core:
        return line
    lead, trail = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    return f"{lead}{mark}{core}{mark}{trail}"

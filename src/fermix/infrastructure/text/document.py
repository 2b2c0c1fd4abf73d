"""Markdown as a tree of our own: what an answer consists of, whoever shows it.

Both unions are closed: a new kind of block or of words has to be shown by every platform before types hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never


class Style(StrEnum):
    """How words look."""

    STRONG = "strong"
    EMPHASIS = "emphasis"
    STRUCK = "struck"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words without a look, and without line breaks."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """The end of a line. People mean one where they type one, so soft and hard breaks are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Code among words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Styled:
    """Words with a look."""

    style: Style
    inner: "tuple[Inline, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Words that lead somewhere; an address alone is a link whose words are the address."""

    inner: "tuple[Inline, ...]"
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture by its address; `inner` says in words what is on it."""

    inner: "tuple[Inline, ...]"
    url: str


Inline: TypeAlias = Words | Break | Code | Styled | Link | Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where something stands in the source.

    Attributes:
        lines: its first line to the one behind its last, counted from 0; empty where the parser does not tell.
        apart: an empty line stands above it.
    """

    lines: range
    apart: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph(Placed):
    """Words under one another."""

    inner: tuple[Inline, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading(Placed):
    """A heading of any level."""

    inner: tuple[Inline, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Placed):
    """One item of a list; `marker` is the sign or number before it, with its space."""

    marker: str
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(Placed):
    """A list, with signs or numbers."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote(Placed):
    """What somebody else said."""

    blocks: "tuple[Block, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock(Placed):
    """Lines of code, without empty ones at their edges and without tabs.

    Attributes:
        text: empty when there is none.
        info: what stands behind the opening fence: the language, mostly.
        fence: the fence itself; empty for code that is only indented.
    """

    text: str
    info: str
    fence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Placed):
    """Rows of cells, the heads first; all rows have the same number of cells."""

    rows: tuple[tuple[tuple[Inline, ...], ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Placed):
    """A line across, which no chat can show."""


Block: TypeAlias = Paragraph | Heading | Items | Quote | CodeBlock | Table | Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text; `lines` is its source, to which the places of the blocks refer."""

    lines: tuple[str, ...]
    blocks: tuple[Block, ...]


Addressed: TypeAlias = Callable[[str, str], str]
"""How words and the address that belongs to them stand where nothing can be clicked."""


def label_only(words: str, url: str) -> str:  # noqa: ARG001  # one of several ways, all called alike
    """Without the address."""
    return words


def in_brackets(words: str, url: str) -> str:
    """As `words (address)`; an address that is its own label, or has none, stands alone."""
    return f"{words} ({url})" if words and url and url != words else words or url


def after_colon(words: str, url: str) -> str:
    """As `words: address`; an address that is its own label, or has none, stands alone."""
    return f"{words}: {url}" if words and url and url != words else words or url


def plain(nodes: Sequence[Inline], *, link: Addressed, image: Addressed = label_only) -> str:
    """The words without their looks; what has no other place for its address shows it as told."""
    return "".join([_plain(node, link, image) for node in nodes])


def _plain(node: Inline, link: Addressed, image: Addressed) -> str:
    match node:
        case Words(text=text) | Code(text=text):
            return text
        case Break():
            return "\n"
        case Styled(inner=inner):
            return plain(inner, link=link, image=image)
        case Link(inner=inner, url=url):
            return link(plain(inner, link=link, image=image), url)
        case Image(inner=inner, url=url):
            return image(plain(inner, link=link, image=image), url)
        case _:
            assert_never(node)

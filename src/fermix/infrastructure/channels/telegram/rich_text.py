"""Text with formatting as the Bot API takes it: entities with offsets in UTF-16 units beside the plain text.

The documented rules hold by construction: entities are inside the text, never cross and never end with white
space; `code` and `pre` stand alone but in a quote; a quote is never in a quote; at most 100 of them. Source:
https://core.telegram.org/bots/api#formatting-options.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate

MAX_ENTITIES = 100
QUOTE = "blockquote"
LONG_QUOTE = "expandable_blockquote"
LINK = "text_link"
PRE = "pre"
CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One formatted range; `offset` and `length` in UTF-16 units."""

    kind: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    def as_json(self) -> dict[str, str | int]:
        """The Bot API's `MessageEntity`."""
        raw: dict[str, str | int] = {"type": self.kind, "offset": self.offset, "length": self.length}
        if self.url is not None:
            raw["url"] = self.url
        if self.language is not None:
            raw["language"] = self.language
        return raw


@dataclass(frozen=True, slots=True, kw_only=True)
class RichText:
    """A message's text, and how parts of it look."""

    text: str
    entities: tuple[Entity, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Span:
    """A range in code points, still open while `end` is `None`."""

    kind: str
    start: int
    end: int | None = None
    url: str | None = None
    language: str | None = None


@dataclass(slots=True)
class Writer:
    """Builds rich text from left to right. Line breaks are only asked for, so that none stand at its edges."""

    _pieces: list[str] = field(default_factory=list[str])
    _length: int = 0
    _breaks: int = 0
    _indents: list[str] = field(default_factory=list[str])
    _line_is_empty: bool = True
    _open: list[_Span] = field(default_factory=list[_Span])
    _closed: list[_Span] = field(default_factory=list[_Span])

    def inside(self, *kinds: str) -> bool:
        """Whether a span of one of these kinds is open."""
        return any(span.kind in kinds for span in self._open)

    def break_lines(self, count: int) -> None:
        """Begin a new line before what is written next (2: leave one empty); nothing at the very start."""
        self._breaks = max(self._breaks, count)

    def new_line(self) -> None:
        """Be at the start of a line before what is written next."""
        if not self._line_is_empty:
            self.break_lines(1)

    def write(self, text: str) -> None:
        """Add text; its lines stand under the indentation that is set."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self.break_lines(1)
            if line:
                self._flush()
                if self._line_is_empty and self._indents:
                    self._put("".join(self._indents))
                self._put(line)
                self._line_is_empty = False

    def write_exactly(self, text: str) -> None:
        """Add text as it is, without indentation."""
        self._flush()
        self._put(text)
        self._line_is_empty = False

    @contextmanager
    def indented(self, by: str) -> Generator[None]:
        """Lines that begin inside stand further right."""
        self._indents.append(by)
        yield
        self._indents.pop()

    @contextmanager
    def span(self, kind: str, *, url: str | None = None, language: str | None = None) -> Generator[None]:
        """What is written inside is formatted; a kind inside itself changes nothing."""
        if self.inside(kind):
            yield
            return
        self._flush()
        span = _Span(kind=kind, start=self._length, url=url, language=language)
        self._open.append(span)
        yield
        self._open.remove(span)
        self._close(span)

    @contextmanager
    def alone(self, kind: str, *, language: str | None = None) -> Generator[None]:
        """As `span` for a kind that no other may surround but a quote: the others end and begin again."""
        if self.inside(LINK, CODE, PRE):
            yield
            return
        around = [span for span in self._open if span.kind not in {QUOTE, LONG_QUOTE}]
        for span in around:
            self._open.remove(span)
            self._close(replace(span))
        with self.span(kind, language=language):
            yield
        for span in around:
            span.start = self._length
        self._open += around

    def finish(self) -> RichText:
        """The text without white space at its edges, and its entities in order."""
        text = "".join(self._pieces).rstrip()
        spans = [span for span in self._closed if _trim(span, text)]
        spans.sort(key=lambda span: (span.start, -(span.end or 0), span.kind not in {QUOTE, LONG_QUOTE}))
        first = spans[0].start if spans else len(text)
        lead = min(len(text) - len(text.lstrip()), first)
        return RichText(text=text[lead:], entities=tuple(_counted(text[lead:], spans[:MAX_ENTITIES], lead)))

    def _flush(self) -> None:
        if self._breaks and self._pieces:
            self._put("\n" * self._breaks)
            self._line_is_empty = True
        self._breaks = 0

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _close(self, span: _Span) -> None:
        span.end = self._length
        if span.end > span.start:
            self._closed.append(span)


def _trim(span: _Span, text: str) -> bool:
    """Take white space off its edges; whether anything is left."""
    end = min(span.end or 0, len(text))
    inner = text[span.start : end]
    kept = inner.rstrip()
    # A quote may begin with indented code, which keeps its indentation.
    lead = 0 if span.kind in {PRE, QUOTE, LONG_QUOTE} else len(kept) - len(kept.lstrip())
    span.start, span.end = span.start + lead, span.start + len(kept)
    return bool(kept.strip())


def _counted(text: str, spans: Sequence[_Span], lead: int) -> list[Entity]:
    before = [0, *accumulate(2 if letter > "\uffff" else 1 for letter in text)]
    return [
        Entity(
            kind=span.kind,
            offset=before[span.start - lead],
            length=before[(span.end or 0) - lead] - before[span.start - lead],
            url=span.url,
            language=span.language,
        )
        for span in spans
    ]

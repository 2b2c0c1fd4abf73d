"""Cutting a long reply into messages: never over the channel's limit, and no code block left half open."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

_FENCE = re.compile(r"[ \t]*(?P<marker>`{3,16}|~{3,16})(?P<info>[^\n]*)")
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f-\x9f]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK_START = re.compile(r"(?:[ \t]*\n)+")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_BEFORE_HEADING = re.compile(r"\n(?:[ \t]*\n)+(?= {0,3}#{1,6}\s)")
_NEWLINE = re.compile(r"\n")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"')\]]*[ \t]+")
_SPACE = re.compile(r"\s+")
_LADDER = (_BEFORE_HEADING, _BLANK_LINES, _NEWLINE, _SENTENCE_END, _SPACE)
"""From the best place for a cut to the worst; the cut is at the end of the match."""

_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_LONGEST_CLUSTER = 64


class TextUnit(StrEnum):
    """What a channel counts when it limits the length of a text."""

    CODE_POINTS = "code_points"
    UTF16 = "utf16"


def units(text: str, unit: TextUnit) -> int:
    """The length of a text in a channel's own unit."""
    if unit is TextUnit.UTF16 and not text.isascii():
        return len(text) + sum(letter > "\uffff" for letter in text)
    return len(text)


def is_blank(text: str) -> bool:
    """Whether nobody would see anything of a text: white space and control characters.

    Platforms refuse a message without anything to see.
    """
    return _VISIBLE.search(text) is None


def head(text: str, *, limit: int, unit: TextUnit) -> str:
    """As much of the front of a text as fits into `limit` units, without parting a visible character."""
    end = _fitting(text, limit, unit)
    return text if end == len(text) else text[: _between_clusters(text, end)]


def code_blocks(text: str) -> tuple[tuple[int, int | None], ...]:
    """Where each code block of a text begins and ends; `None` for one that is still open at its end."""
    return tuple((block.start, end) for block, end in _blocks(text, len(text), None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fence:
    """A code block that is open at some place: the line that opened it, and what closes it."""

    start: int
    marker: str
    info: str

    def reopening(self, limit: int) -> str:
        whole = f"{self.marker}{self.info}\n"
        return whole if len(whole) * 4 <= limit else f"{self.marker}\n"

    @property
    def closing(self) -> str:
        return f"\n{self.marker}"

    def is_closed_by(self, line: str) -> bool:
        found = _FENCE.match(line)
        return found is not None and found["marker"].startswith(self.marker) and not found["info"].strip()


def split(text: str, *, limit: int, unit: TextUnit = TextUnit.CODE_POINTS) -> tuple[str, ...]:
    """Cut Markdown into pieces of at most `limit` units each.

    A piece is filled and cut at the best boundary in its second half: before a heading, at a blank line, a line
    break, the end of a sentence, a space, and only then inside a word, never inside one visible character while
    it is of usual length. A code block is kept whole where it fits into one piece; where it does not, it is
    closed at the cut and opened again, and these lines count. Joined, the pieces give the text but for white
    space at the cuts and those lines.

    Args:
        text: the whole reply.
        limit: units of one piece, at least 64, so that a fence always leaves room for progress.
        unit: what is counted.

    Returns:
        The pieces in order, none of them blank; none at all for a blank text.

    Raises:
        ValueError: the limit is below 64.
    """
    if limit < 64:
        raise ValueError("a limit under 64 leaves no room for fences")
    pieces: list[str] = []
    rest, fence = text.rstrip(), None
    while not is_blank(rest):
        piece, rest, fence = _take(rest, fence, limit, unit)
        if not is_blank(piece):
            pieces.append(piece)
    return tuple(pieces)


def split_off(text: str, *, limit: int, unit: TextUnit = TextUnit.CODE_POINTS) -> tuple[str, str]:
    """The first piece that `split` would give, and what follows it; a code block that was cut is opened again.

    Raises:
        ValueError: the limit is below 64.
    """
    if limit < 64:
        raise ValueError("a limit under 64 leaves no room for fences")
    piece, rest, fence = _take(text.rstrip(), None, limit, unit)
    return piece, rest if fence is None or not rest.strip() else fence.reopening(limit) + rest


def _take(rest: str, fence: _Fence | None, limit: int, unit: TextUnit) -> tuple[str, str, _Fence | None]:
    """One piece from the front of `rest`, what is left, and the code block that is open there."""
    opening = "" if fence is None else fence.reopening(limit)
    room = limit - units(opening, unit)
    end = _fitting(rest, room, unit)
    if end == len(rest):
        return opening + rest, "", None
    blocks = list(_blocks(rest, end, fence))
    last = blocks[-1] if blocks else None
    if last is None or last[1] is not None:
        cut = _best_cut(rest, end, [(block.start, stop) for block, stop in blocks if stop is not None])
        return opening + rest[:cut].rstrip(), _from_first_line(rest[cut:]), None
    inside = last[0]
    fits = _fitting(rest, room - units(inside.closing, unit), unit)
    first_line = rest.find("\n", inside.start) + 1 if inside is not fence else 0
    if rest[: inside.start].strip() and (
        "\n" not in rest[first_line:fits] or _whole_fits(rest[inside.start :], limit, unit)
    ):
        return opening + rest[: inside.start].rstrip(), rest[inside.start :], None
    at_line = rest.rfind("\n", first_line, fits) + 1
    cut = at_line if at_line > first_line else _between_clusters(rest, fits)
    piece = opening + rest[:cut].removesuffix("\n") + inside.closing
    next_line, newline, following = rest[cut:].partition("\n")
    if inside.is_closed_by(next_line):
        return piece, _from_first_line(newline + following), None
    return piece, rest[cut:], inside


def _from_first_line(text: str) -> str:
    blank = _BLANK_START.match(text)
    return text if blank is None else text[blank.end() :]


def _fitting(text: str, room: int, unit: TextUnit) -> int:
    """How many characters of `text` fit into `room`."""
    window = text[:room]
    if unit is TextUnit.CODE_POINTS or window.isascii():
        return len(window)
    used = 0
    for index, letter in enumerate(window):
        used += 2 if letter > "\uffff" else 1
        if used > room:
            return index
    return len(window)


def _blocks(text: str, end: int, fence: _Fence | None) -> Iterator[tuple[_Fence, int | None]]:
    """The code blocks in `text[:end]` and where each ends; `None` for one that is still open there.

    Lines are read whole, also the one that `end` cuts: half of it may look like what it is not.

    Args:
        text: Markdown.
        end: how far to look.
        fence: the block that is open at the start; it is given back itself.
    """
    for line in _LINE.finditer(text):
        if line.start() >= end:
            break
        if fence is not None:
            if fence.is_closed_by(line[0]) and line.start() + len(line[0].rstrip("\n")) <= end:
                yield fence, line.end()
                fence = None
            continue
        found = _FENCE.match(line[0])
        if found is not None and not (found["marker"][0] == "`" and "`" in found["info"]):
            fence = _Fence(start=line.start(), marker=found["marker"], info=found["info"].strip())
    if fence is not None:
        yield fence, None


def _whole_fits(rest: str, limit: int, unit: TextUnit) -> bool:
    """Whether the code block at the front of `rest` fits into one piece."""
    for _, end in _blocks(rest, limit, None):
        return end is not None and units(rest[:end].rstrip(), unit) <= limit
    return False


def _best_cut(text: str, end: int, blocks: Sequence[tuple[int, int]]) -> int:
    """A place for a cut outside every block: in the second half of `text[:end]`, or right at its end."""
    half = end // 2
    starts = [start for start, _ in blocks]
    for boundary in _LADDER:
        cuts = [
            found.end()
            for found in boundary.finditer(text, 0, end)
            if found.end() >= max(half, 1) and not _is_inside(found.end(), blocks, starts)
        ]
        if cuts:
            return next((cut for cut in reversed(cuts) if not _leads_on(text[:cut])), cuts[-1])
    if blocks and blocks[-1][1] >= half:
        return blocks[-1][1]
    return _between_clusters(text, end)


def _is_inside(place: int, blocks: Sequence[tuple[int, int]], starts: Sequence[int]) -> bool:
    """Whether a place lies within one of the blocks, which come in order and touch at most."""
    last = bisect_left(starts, place) - 1
    return last >= 0 and place < blocks[last][1]


def _leads_on(piece: str) -> bool:
    """Whether its last line is a heading or ends with a colon, and so belongs to what follows."""
    last = piece.rstrip().rpartition("\n")[2]
    return last.endswith(":") or _HEADING.match(last) is not None


def _between_clusters(text: str, end: int) -> int:
    """`end`, or a place a little before it where a cut does not part one visible character."""
    for cut in range(end, max(end - _LONGEST_CLUSTER, 0), -1):
        if cut == len(text) or not _is_joined(text[cut - 1], text[cut]):
            return cut
    return max(end, 1)


def _is_joined(left: str, right: str) -> bool:
    return (
        left == "\u200d"
        or right in _JOINERS
        or unicodedata.combining(right) != 0
        or ord(right) in _SKIN_TONES
        or (_is_flag_letter(left) and _is_flag_letter(right))
    )


def _is_flag_letter(letter: str) -> bool:
    return ord(letter) in _FLAG_LETTERS

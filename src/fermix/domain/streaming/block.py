"""An answer sent in several messages while it is written: where the text is cut, and when each piece leaves.

Like the draft machine it has no clock and makes no call.
"""

import re
from collections import deque
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from fermix.domain.splitting import TextUnit, code_blocks, head, split
from fermix.domain.streaming.draft import MAX_FAILURES, MAX_WRITES, WRITE_EVERY
from fermix.domain.streaming.heard import BeganAnew, Heard, ItemDone, Missed, Thought, Wrote
from fermix.domain.streaming.thoughts import thought_line

WINDOW = 1200
"""Characters of one block at most; only a code block may be longer, since it is never parted."""

SMALLEST_PARAGRAPHS = 800
"""Characters before a blank line is a place for a cut."""

IDLE = timedelta(seconds=1)
"""Without news for so long, what there is goes out whatever its size."""

MAX_THOUGHTS = 32
"""Thoughts that wait; more of them are dropped."""

MAX_PIECES = 100
"""Pieces that wait to be sent; while there are so many, no more text is cut off."""

_BLANK_LINE = re.compile(r"\n[ \t]*\n")


_LONGEST_FENCE = 32
_Blocks: TypeAlias = tuple[tuple[int, int | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """Where code blocks were found in the unsent text when it began at `base` and was so long."""

    base: int
    length: int
    blocks: _Blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class SendBlock:
    """Send this as a message of its own; `is_thought`: it is no part of the answer."""

    text: str
    is_thought: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """What is still to be sent at the end.

    Attributes:
        blocks: messages of their own, which come first.
        text: what of the final text follows; `None` for all of it.
    """

    blocks: tuple[str, ...] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLimits:
    """The longest text of one message of the channel."""

    text: int | None
    unit: TextUnit


class BlockMachine:
    """What of one turn's text has been sent, and what is sent next.

    `_taken` is the front of the current step's text that has been cut off into `_pieces`. When a provider begins
    its text anew within a step, nothing is sent until the text has grown past that front again; a text that turns
    out to be another one is sent from its beginning. What a step left behind when it was finished waits in
    `_earlier`: a finished item is sent, however quickly the next step follows.
    """

    def __init__(self, *, limits: BlockLimits) -> None:
        self._limits = limits
        self._thoughts: deque[str] = deque()
        self._earlier: deque[str] = deque()
        self._pieces: deque[str] = deque()
        self._is_of_step = True
        self._text = ""
        self._taken = ""
        self._done = False
        self._deaf = False
        self._scan = _Scan(base=0, length=0, blocks=())
        self._heard_at: datetime | None = None
        self._not_before: datetime | None = None
        self._failures = 0
        self.sent = 0

    def hear(self, event: Heard, now: datetime) -> None:
        """Take in what happened to the text."""
        self._heard_at = now
        match event:
            case Wrote(text=text):
                self._text += "" if self._deaf else text
            case ItemDone():
                self._done = True
                self._take_all()
            case Thought(text=text):
                line = thought_line(text)
                if line is not None and len(self._thoughts) < MAX_THOUGHTS:
                    self._thoughts.append(line)
            case BeganAnew():
                self._begin()
            case Missed():
                self._text, self._deaf = "", True
            case _:
                assert_never(event)

    def due(self, now: datetime) -> datetime | None:
        """When to ask for the next block; `None` while there is none before more is heard."""
        if not self._may_send():
            return None
        at = now if self._not_before is None else max(now, self._not_before)
        if self._thoughts or self._earlier or self._pieces or self._cut(idle=False):
            return at
        if self._heard_at is not None and self._cut(idle=True):
            return max(at, self._heard_at + IDLE)
        return None

    def next_block(self, now: datetime) -> SendBlock | None:
        """The block to send now, if any; thoughts go first. Say `failed` when it was not committed."""
        if not self._may_send() or (self._not_before is not None and now < self._not_before):
            return None
        if self._thoughts:
            return self._hand_out(SendBlock(text=self._thoughts.popleft(), is_thought=True), now)
        if self._earlier:
            self._is_of_step = False
            return self._hand_out(SendBlock(text=self._earlier.popleft()), now)
        self._is_of_step = True
        if not self._pieces:
            idle = self._heard_at is not None and now - self._heard_at >= IDLE
            self._take(self._cut(idle=idle))
        return self._hand_out(SendBlock(text=self._pieces.popleft()), now) if self._pieces else None

    def committed(self) -> None:
        """The last block is on its way for good."""
        self._failures = 0

    def failed(self, block: SendBlock) -> None:
        """The last block could not be committed: a thought is dropped, text is kept for later."""
        self._failures += 1
        if not block.is_thought:
            (self._pieces if self._is_of_step else self._earlier).appendleft(block.text)

    def end(self, final: str) -> Unsent:
        """What is still to be sent, now that the final text is known."""
        front = self._front()
        if not front or not final.startswith(front):
            return Unsent(blocks=tuple(self._earlier))
        return Unsent(blocks=(*self._earlier, *self._pieces), text=final[len(front) :].strip("\n"))

    def _begin(self) -> None:
        if self._done:
            self._taken, self._done = "", False
            self._earlier.extend(self._pieces)
            self._pieces.clear()
            self._is_of_step = False
        self._text, self._deaf = "", False
        self._scan = _Scan(base=0, length=0, blocks=())

    def _take(self, end: int) -> None:
        if end:
            self._pieces.extend(self._as_messages(self._unsent()[:end]))
            self._taken = self._front() + self._unsent()[:end]

    def _take_all(self) -> None:
        """Cut all that was not taken into pieces; a code block that nobody closed is none."""
        while self._may_send() and len(self._earlier) + len(self._pieces) < MAX_PIECES:
            end = self._cut(idle=False)
            if not end:
                return
            self._take(end)

    def _may_send(self) -> bool:
        return self._failures < MAX_FAILURES and self.sent < MAX_WRITES

    def _hand_out(self, block: SendBlock, now: datetime) -> SendBlock:
        self._not_before = now + WRITE_EVERY
        self.sent += 1
        return block

    def _front(self) -> str:
        """The part of the text that was taken; empty when the text turned out to be another one."""
        return self._taken if self._is_ours() else ""

    def _is_ours(self) -> bool:
        return self._text.startswith(self._taken) or self._taken.startswith(self._text)

    def _unsent(self) -> str:
        return self._text[len(self._taken) :] if self._is_ours() else self._text

    def _cut(self, *, idle: bool) -> int:
        """How much of the unsent text makes a block now; 0 for none."""
        unsent = self._unsent()
        if not unsent or unsent.isspace():
            return 0
        if len(unsent) <= SMALLEST_PARAGRAPHS and not (idle or self._done):
            return 0
        blocks = self._blocks(unsent)
        if len(unsent) > SMALLEST_PARAGRAPHS:
            paragraphs = [
                found.end()
                for found in _BLANK_LINE.finditer(unsent, 0, WINDOW)
                if found.end() >= SMALLEST_PARAGRAPHS and _is_outside(found.end(), blocks)
            ]
            if paragraphs:
                return paragraphs[-1]
        if len(unsent) > WINDOW:
            return _forced(unsent, blocks)
        is_whole = not blocks or blocks[-1][1] is not None
        return len(unsent) if is_whole and (idle or self._done) else 0

    def _blocks(self, unsent: str) -> _Blocks:
        """The code blocks of the unsent text; one that was open is open until a fence comes."""
        base, scan = len(self._text) - len(unsent), self._scan
        if base == scan.base and len(unsent) >= scan.length and scan.blocks and scan.blocks[-1][1] is None:
            fresh = unsent[max(scan.length - _LONGEST_FENCE, scan.blocks[-1][0] + _LONGEST_FENCE) :]
            if "```" not in fresh and "~~~" not in fresh:
                self._scan = replace(scan, length=len(unsent))
                return scan.blocks
        self._scan = _Scan(base=base, length=len(unsent), blocks=code_blocks(unsent))
        return self._scan.blocks

    def _as_messages(self, text: str) -> tuple[str, ...]:
        if self._limits.text is None:
            return (text.strip("\n").rstrip(),)
        return split(text.strip("\n"), limit=self._limits.text, unit=self._limits.unit)


def _is_outside(place: int, blocks: _Blocks) -> bool:
    return not any(start < place and (end is None or place < end) for start, end in blocks)


def _forced(text: str, blocks: _Blocks) -> int:
    """A place for a cut in a text over the window.

    That is the last line break in it, else the last space, else its end; after a code block that goes beyond it.
    """
    if blocks and blocks[-1][1] is None and not text[: blocks[-1][0]].strip():
        return 0
    breaks = [found.end() for found in re.finditer(r"\n", text) if _is_outside(found.end(), blocks)]
    inside = [place for place in breaks if place <= WINDOW and text[:place].strip()]
    if inside:
        return inside[-1]
    window = len(head(text, limit=WINDOW, unit=TextUnit.CODE_POINTS))
    if _is_outside(window, blocks):
        word = text.rfind(" ", 0, window) + 1
        return word if text[:word].strip() and _is_outside(word, blocks) else window
    return next((place for place in breaks if place > WINDOW), 0)

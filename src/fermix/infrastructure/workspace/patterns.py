"""Patterns that a model writes: matched in time that no pattern can blow up."""

import fnmatch
import re
from collections.abc import Callable, Sequence

from fermix.application.ports.workspace import BadPattern

MAX_PATTERN = 256
"""Characters of a pattern."""

NamePattern = Callable[[Sequence[str]], bool]
"""Says whether the parts of a path below the folder that is searched match."""


def compile_glob(pattern: str) -> NamePattern:
    """A glob pattern: `*`, `?` and `[…]` within a name, `**` over any number of folders.

    Without a slash it matches a name at any depth. Matching walks the path once per component of the pattern; the
    parts between slashes become the standard library's translation, which does not backtrack into a `*`.

    Raises:
        BadPattern: it is empty, too long, absolute or leads upwards.
    """
    if not pattern.strip() or len(pattern) > MAX_PATTERN:
        raise BadPattern(f"A pattern has 1 to {MAX_PATTERN} characters.")
    if pattern.startswith(("/", "~")):
        raise BadPattern("A pattern is relative to the folder that is searched; name the folder in `path`.")
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    if not parts or ".." in parts:
        raise BadPattern("A pattern cannot lead out of the folder that is searched.")
    if "/" not in pattern:
        parts.insert(0, "**")
    steps = [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]
    return lambda names: _matches(steps, names)


def _matches(steps: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """`reached` holds how many names the steps so far can have used up; `None` is `**`."""
    reached = {0}
    for step in steps:
        if step is None:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {used + 1 for used in reached if used < len(names) and step.match(names[used])}
        if not reached:
            return False
    return len(names) in reached


class LineSearch:
    """A text that is looked for within lines.

    Literal, because Python's regular expressions can be made to search for ever by the pattern's author. With
    wildcards the pieces between the `*` are looked for one after the other, which takes one pass over the line.
    """

    def __init__(self, text: str, *, ignore_case: bool, wildcards: bool) -> None:
        if not text.strip() or len(text) > MAX_PATTERN:
            raise BadPattern(
                f"The text to search for has 1 to {MAX_PATTERN} characters that are not all blank."
            )
        if "\n" in text or "\r" in text:
            raise BadPattern("The text to search for lies within one line.")
        self._ignore_case = ignore_case
        pieces = text.split("*") if wildcards else [text]
        self._pieces = [self._folded(piece) for piece in pieces if piece]
        if not self._pieces:
            raise BadPattern("The text to search for needs more than wildcards.")

    def may_be_in(self, text: str) -> bool:
        """Whether it is worth looking at the lines of `text`."""
        folded = self._folded(text)
        return all(piece in folded for piece in self._pieces)

    def find(self, line: str) -> int | None:
        """Where the match begins in `line`, roughly where letters change their length in lower case."""
        folded = self._folded(line)
        begin, position = None, 0
        for piece in self._pieces:
            at = folded.find(piece, position)
            if at < 0:
                return None
            begin = at if begin is None else begin
            position = at + len(piece)
        return begin

    def _folded(self, text: str) -> str:
        return text.casefold() if self._ignore_case else text

"""A glimpse of what somebody wrote, for lists that an owner reads."""

import re
from collections.abc import Iterable

PREVIEW_CHARACTERS = 80

_WORD = re.compile(r"\S+")
_CUT = "…"


def preview(texts: Iterable[str], *, limit: int = PREVIEW_CHARACTERS) -> str:
    """The texts on one line of at most `limit` characters; an ellipsis stands for what was cut off.

    Line breaks and runs of white space become single spaces. The characters are those that were written: whoever
    shows them on a terminal still has to make them harmless.
    """
    line = ""
    for text in texts:
        for word in _WORD.finditer(text):
            line = f"{line} {word[0]}" if line else word[0]
            if len(line) > limit:
                return line[: limit - 1].rstrip() + _CUT
    return line

"""Making a provider's words safe to show: one line, short, without the key."""

import re
from collections.abc import Iterable

MAX_DETAIL = 200
_RUN = 8
_SHORTEST_SECRET = 4
_MASK = "***"
_KEY_SHAPES = re.compile(r"(?i)\b(?:sk|pk|rk|gsk|xai|key)-[\w*.-]{6,}|\bbearer\s+[\w.~+/=*-]{4,}")


def safe_detail(text: str, *, secrets: Iterable[str] = ()) -> str | None:
    """At most `MAX_DETAIL` characters of `text` on one line, or `None` when nothing is left.

    Any eight characters in a row of a secret are masked, not only the whole: servers echo keys cut short. What
    only looks like a key is masked too.
    """
    line = redacted(text[: 50 * MAX_DETAIL], secrets=secrets)
    if len(line) > MAX_DETAIL:
        line = line[: MAX_DETAIL - 1].rstrip() + "…"
    return line or None


def redacted(text: str, *, secrets: Iterable[str] = ()) -> str:
    """`text` on one line, with secrets and whatever has the shape of a key masked."""
    # Invisible characters go first: between the characters of a key they would hide it from the search.
    visible = (char for char in text if char.isprintable() or char.isspace())
    text = " ".join("".join(visible).split())
    for secret in secrets:
        text = _masked(text, secret)
    return _KEY_SHAPES.sub(_MASK, text)


def _masked(text: str, secret: str) -> str:
    """Mask each stretch of `text` that lies inside `secret`; shorter than four characters is no secret."""
    if len(secret) < _SHORTEST_SECRET:
        return text
    width = min(_RUN, len(secret))
    runs = {secret[start : start + width] for start in range(len(secret) - width + 1)}
    out: list[str] = []
    position = masked_to = 0
    while position < len(text):
        if text[position : position + width] in runs:
            if masked_to <= position:
                out.append(_MASK)
            masked_to = position + width
        if position >= masked_to:
            out.append(text[position])
        position += 1
    return "".join(out)

"""Keeping secrets out of what is written down: known ones by value, others by their shape."""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from fermix.infrastructure.telemetry.shapes import Span, credential_shapes

SHORTEST_SECRET = 6
"""Shorter values are not masked: they would mask ordinary words."""

SCANNED = 65_536
"""Characters of a text that are looked at; the rest is left out, never written unseen."""

MARGIN = 16_384
"""Characters read beyond `SCANNED`, so that a secret which begins before it is seen whole."""

_PIECE = 1024  # a character needs at most 12 in another spelling: one piece always fits into the margin
_NOT_IN_KIND = re.compile(r"[^a-z0-9_.-]+")


class Redactor:
    """The secrets of one home. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def register(self, value: str, kind: str = "secret") -> bool:
        """Hide `value` from now on, in its usual spellings (URL, JSON, Python literal) too.

        Args:
            value: the secret; blanks around it do not count.
            kind: what it is, shown in its place.

        Returns:
            Whether it is hidden: not when it is shorter than `SHORTEST_SECRET`.
        """
        value = value.strip()
        if len(value) < SHORTEST_SECRET:
            return False
        name = _NOT_IN_KIND.sub("_", kind.lower())[:40]
        known = dict(self._known)
        for start in range(0, len(value), _PIECE):
            for spelling in _spellings(value[start : start + _PIECE]):
                known.setdefault(spelling, name)
        self._known = known
        return True

    @property
    def hidden(self) -> int:
        """How many spellings of secrets are hidden; grows whenever one more becomes known."""
        return len(self._known)

    def redact(self, text: str) -> str:
        """`text` with `[REDACTED:kind]` in place of each secret, cut to `SCANNED` characters."""
        return redact(text, (self,))

    def find(self, text: str) -> list[Span]:
        """Where secrets registered here lie in `text`; of each at least one character of every occurrence."""
        spans: list[Span] = []
        for secret, kind in self._known.items():
            start = text.find(secret)
            while start >= 0:
                end = start + len(secret)
                spans.append(Span(start=start, end=end, kind=kind))
                start = text.find(secret, end)
        return spans


def redact(text: str, redactors: Iterable[Redactor], *, shapes: bool = True) -> str:
    """`text` without what any of `redactors` knows.

    Linear in the text, of which at most `SCANNED` characters are kept.

    Args:
        text: what is to be shown.
        redactors: whose secrets are hidden.
        shapes: whether to hide what is merely shaped like a credential too.
    """
    seen = text[: SCANNED + MARGIN]
    spans = [span for redactor in redactors for span in redactor.find(seen)]
    if shapes:
        spans.extend(credential_shapes(seen))
    spans.sort(key=lambda span: (span.start, -span.end))
    out: list[str] = []
    shown_to = 0
    for span in spans:
        if span.start >= SCANNED:
            break
        if span.end <= shown_to:
            continue
        if span.start >= shown_to:
            out.extend((seen[shown_to : span.start], f"[REDACTED:{span.kind}]"))
        shown_to = span.end
    out.append(seen[shown_to:SCANNED])
    if len(text) > SCANNED:
        out.append(f"… [{len(text) - SCANNED} characters left out]")
    return "".join(out)


def _spellings(value: str) -> set[str]:
    spellings = {
        value,
        value.strip(),
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    }
    return {spelling for spelling in spellings if len(spelling) >= SHORTEST_SECRET}

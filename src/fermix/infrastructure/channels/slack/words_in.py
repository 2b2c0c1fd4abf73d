"""What people write on Slack, as they see it: escapes undone once, and names in place of codes.

Source: https://docs.slack.dev/messaging/formatting-message-text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_CODE = re.compile(r"<([^<>\n]*)>|&(amp|lt|gt);")
_ESCAPES = {"amp": "&", "lt": "<", "gt": ">"}
_USER = re.compile(r"@([UW][A-Z0-9]+)")
_BESIDE_A_NAME = " ,:\n\t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A text as it reads.

    Attributes:
        text: without our name at its start or end.
        raw_text: whole.
        mentions: everybody who is named, at code points of `raw_text`.
    """

    text: str
    raw_text: str
    mentions: Sequence[Mapping[str, object]] = ()


def written(escaped: str, *, us: str) -> Written:
    """Undo Slack's escapes, once, and read who is named.

    Args:
        escaped: as it comes over the wire.
        us: our user id.
    """
    pieces, length = list[str](), 0
    mentions = list[Mapping[str, object]]()
    at = 0
    for found in _CODE.finditer(escaped):
        before = escaped[at : found.start()]
        shown = _ESCAPES[found[2]] if found[2] else _shown(found[1])
        pieces += (before, shown)
        length += len(before) + len(shown)
        at = found.end()
        user = _USER.match(found[1] or "")
        if user:
            mentions.append(
                {"id": user[1], "start": length - len(shown), "end": length, "is_us": user[1] == us}
            )
    raw = "".join([*pieces, escaped[at:]])
    return Written(text=_without_us(raw, mentions), raw_text=raw, mentions=mentions)


def unescaped(escaped: str) -> str:
    """A text that holds no names of ours to look for, such as one that is quoted."""
    return written(escaped, us="").raw_text


def _shown(code: str) -> str:
    """A code without its brackets, as people see it: somebody, a room, everybody, a date or a link."""
    target, bar, label = code.partition("|")
    target, label = _unescape(target), _unescape(label)
    if target.startswith("@"):
        return f"@{label.removeprefix('@')}" if label else target
    if target.startswith("#"):
        return f"#{label.removeprefix('#')}" if label else target
    if target.startswith("!"):
        return _special(target, label)
    return _link(target, label) if bar else target.removeprefix("mailto:").removeprefix("tel:")


def _special(target: str, label: str) -> str:
    """`!here`, `!subteam^S1` or `!date^…`; the label is what was shown."""
    if target.startswith("!date"):
        return label or target
    name = label or target.removeprefix("!").partition("^")[0]
    return f"@{name.removeprefix('@')}"


def _link(url: str, label: str) -> str:
    plain = url.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in {url, plain} or url in {f"https://{label}", f"http://{label}"}:
        return plain
    return f"{label} ({url})"


def _unescape(text: str) -> str:
    return re.sub("&(amp|lt|gt);", lambda found: _ESCAPES[found[1]], text)


def _without_us(raw: str, mentions: Sequence[Mapping[str, object]]) -> str:
    """The text without our name at its start, else without the one at its end."""
    ours = [(int(str(one["start"])), int(str(one["end"]))) for one in mentions if one["is_us"]]
    for start, end in ours:
        if not raw[:start].strip():
            return raw[end:].lstrip(_BESIDE_A_NAME)
    for start, end in ours:
        if not raw[end:].strip():
            return raw[:start].rstrip()
    return raw

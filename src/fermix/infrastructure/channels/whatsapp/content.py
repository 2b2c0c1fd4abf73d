"""What one message of WhatsApp's holds: its words, what it points at, what hangs on it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SILENT_TYPES = frozenset({"reaction", "system", "revoke", "request_welcome"})
"""Nobody wrote these to be answered."""

MEDIA_ID = re.compile(r"[0-9A-Za-z_.-]{1,200}")
"""What an id of a file may look like; it becomes a part of an address."""

_NOTHING = "nothing to fetch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The words, in the gateway's names and plain types.

    Attributes:
        is_picture: a picture is shown, and nothing else.
    """

    text: str
    raw_text: str
    mentions: Sequence[Mapping[str, object]] = ()
    references: Sequence[Mapping[str, object]] = ()
    attachments: Sequence[Mapping[str, object]] = ()
    is_picture: bool = False


def content_of(message: Mapping[str, Any], *, own_number: str) -> Content | None:
    """What a message holds; `None` when its fields are not those of its type, or it only says that it changed.

    Of a type that we do not know there is an attachment that becomes nothing, so that its sender is told.

    Args:
        message: one of `messages`, or what an edit says it is now.
        own_number: digits of our phone number, which a mention of us is written with.
    """
    kind = message.get("type")
    if not isinstance(kind, str):
        return None
    text: str | None = ""
    references: list[Mapping[str, object]] = []
    attachments: list[Mapping[str, object]] = []
    if kind in _WORDS:
        text = _WORDS[kind](message)
    elif kind in _FILES:
        text, file = _file(kind, _dict(message.get(kind)))
        attachments = [file] if file else []
    elif kind in _TOLD:
        line = _TOLD[kind](message)
        references = [{"kind": "forward", "text": line}] if line else []
        text = "" if line else None
    elif kind == "unsupported" and _dict(message.get(kind)).get("type") == "edit":
        return None
    else:
        attachments = [{"kind": "other", "reference": _NOTHING}]
    if text is None or (kind in _FILES and not attachments):
        return None
    return _pointing(message, text, references, attachments, own_number)


def _pointing(
    message: Mapping[str, Any],
    text: str,
    references: list[Mapping[str, object]],
    attachments: list[Mapping[str, object]],
    own_number: str,
) -> Content:
    context = _dict(message.get("context"))
    own_words, mentions = _mentions(text, own_number)
    if context.get("forwarded") is True or context.get("frequently_forwarded") is True:
        references = [*references, {"kind": "forward", "text": text or None}]
        own_words = ""
    if isinstance(context.get("id"), str):
        author = context.get("from")
        ours = isinstance(author, str) and bool(own_number) and author.lstrip("+") == own_number
        references = [
            *references,
            {"kind": "reply", "message": context["id"], "author": author, "is_ours": ours},
        ]
    return Content(
        text=own_words,
        raw_text=text,
        mentions=mentions,
        references=references,
        attachments=attachments,
        is_picture=message.get("type") == "image",
    )


def _mentions(text: str, own_number: str) -> tuple[str, list[Mapping[str, object]]]:
    """The text without our number at its start or end, and every place where we are named."""
    if not own_number:
        return text, []
    found = list(re.finditer(rf"@{own_number}(?!\d)", text))
    mentions: list[Mapping[str, object]] = [
        {"id": own_number, "start": one.start(), "end": one.end(), "is_us": True} for one in found
    ]
    for one in found:
        if not text[: one.start()].strip():
            return text[one.end() :].lstrip(" ,:\n"), mentions
        if not text[one.end() :].strip():
            return text[: one.start()].rstrip(), mentions
    return text, mentions


def _file(kind: str, raw: Mapping[str, Any]) -> tuple[str | None, Mapping[str, object] | None]:
    reference, mime = raw.get("id"), raw.get("mime_type")
    if not isinstance(reference, str) or not MEDIA_ID.fullmatch(reference):
        return None, None
    heard = isinstance(mime, str) and mime.startswith("audio/")
    file = {
        "kind": "audio" if heard and kind == "document" else _FILES[kind],
        "reference": reference,
        "mime_type": mime,
        "name": raw.get("filename"),
    }
    caption = raw.get("caption")
    return caption if isinstance(caption, str) else "", file


def _location(message: Mapping[str, Any]) -> str | None:
    place = _dict(message.get("location"))
    north, east = place.get("latitude"), place.get("longitude")
    if type(north) not in {int, float} or type(east) not in {int, float}:
        return None
    named = [str(place[name]) for name in ("name", "address") if isinstance(place.get(name), str)]
    return _one_line(["location", f"{north}, {east}", *named])


def _contacts(message: Mapping[str, Any]) -> str | None:
    cards = [_dict(card) for card in _items(message.get("contacts"))]
    told: list[str] = []
    for card in cards[:10]:
        name = _dict(card.get("name")).get("formatted_name")
        phones = [_dict(one).get("phone") for one in _items(card.get("phones"))]
        told += [text for text in (name, *phones) if isinstance(text, str)]
    return _one_line(["contact", *told]) if told else None


def _one_line(pieces: Sequence[str]) -> str:
    return "; ".join(" ".join(piece.split())[:500] for piece in pieces)


def _typed(message: Mapping[str, Any]) -> str | None:
    body = _dict(message.get("text")).get("body")
    return body if isinstance(body, str) else None


def _chosen(message: Mapping[str, Any]) -> str | None:
    """The label of a button or a row that somebody tapped."""
    tapped = _dict(message.get("interactive"))
    for name in ("button_reply", "list_reply"):
        title = _dict(tapped.get(name)).get("title")
        if isinstance(title, str):
            return title
    label = _dict(message.get("button")).get("text")
    return label if isinstance(label, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_Said = Callable[[Mapping[str, Any]], str | None]

_WORDS: Mapping[str, _Said] = {"text": _typed, "interactive": _chosen, "button": _chosen}
_TOLD: Mapping[str, _Said] = {"location": _location, "contacts": _contacts}
_FILES = {"image": "image", "audio": "audio", "voice": "audio", "video": "file", "document": "file"}
"""By type, what a file of it can become; a sticker becomes nothing."""

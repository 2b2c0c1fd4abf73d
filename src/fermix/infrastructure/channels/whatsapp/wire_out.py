"""Our parts as bodies of the Cloud API's requests.

Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/reference/whatsapp-business-phone-number/message-api.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fermix.domain.caps import CAPS
from fermix.domain.delivery import MediaKind, MediaPart, ReactionPart
from fermix.domain.ids import ChannelName
from fermix.domain.normalise import clean
from fermix.domain.phone_numbers import other_spellings
from fermix.domain.route import Target
from fermix.infrastructure.channels.whatsapp.markdown import render
from fermix.infrastructure.channels.whatsapp.recipient import is_group, is_phone, recipient

CAPS_HERE = CAPS[ChannelName("whatsapp")]
MAX_TEXT = CAPS_HERE.max_text or 0
MAX_CAPTION = max(cap.max_caption or 0 for cap in CAPS_HERE.media_out.values())
MAX_NAME = 200

_TYPES: Mapping[MediaKind, tuple[str, frozenset[str]]] = {
    MediaKind.IMAGE: ("image", frozenset({"image/jpeg", "image/png"})),
    MediaKind.VIDEO: ("video", frozenset({"video/mp4", "video/3gpp"})),
    MediaKind.AUDIO: (
        "audio",
        frozenset({"audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"}),
    ),
    MediaKind.VOICE: ("audio", frozenset({"audio/ogg"})),
}
"""How a kind is sent, and as what types of file. Source:
https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media."""

_OPUS = "audio/ogg; codecs=opus"
_UNKNOWN_TYPE = "application/octet-stream"
_MIME_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}(?=\s*(?:;|\Z))")
"""It goes into the head of a form, where a line break would begin another field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAs:
    """How a file is sent.

    Attributes:
        message: the type of the message, and the name of its field.
        mime_type: what the upload is called.
        is_voice: it is shown as a voice note.
    """

    message: str
    mime_type: str
    is_voice: bool = False


def formatted(text: str, *, limit: int) -> str:
    """The agent's Markdown in WhatsApp's marks; as it is written where marks would make it longer than `limit`."""
    shown = render(text)
    return shown if len(shown) <= limit else clean(text)


def text_message(target: Target, text: str) -> dict[str, Any]:
    """A text, without a preview of what it links to."""
    return {**_message(target, "text", {"body": text, "preview_url": False}), **_answered(target)}


def file_message(target: Target, part: MediaPart, how: SentAs, *, media: str, caption: str) -> dict[str, Any]:
    """A file that was uploaded as `media`."""
    file: dict[str, Any] = {"id": media}
    if caption and how.message != "audio":
        file["caption"] = caption
    if how.message == "document":
        file["filename"] = part.file_name[:MAX_NAME]
    if how.is_voice:
        file["voice"] = True
    return {**_message(target, how.message, file), **_answered(target)}


def reaction_message(target: Target, part: ReactionPart) -> dict[str, Any]:
    """A reaction of ours; it takes the place of the one before it."""
    return _message(target, "reaction", {"message_id": part.message, "emoji": part.emoji})


def typing_notice(message: str) -> dict[str, Any]:
    """Marks a message as read and shows that an answer to it is being written."""
    return {
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": message,
        "typing_indicator": {"type": "text"},
    }


def sent_as(part: MediaPart) -> SentAs:
    """How a file is sent; what WhatsApp does not show as its kind is sent as a document."""
    named = _MIME_TYPE.match(part.mime_type.strip().lower())
    base = _UNKNOWN_TYPE if named is None else named[0]
    kind = part.kind
    if kind is MediaKind.VOICE and base not in _TYPES[kind][1]:
        kind = MediaKind.AUDIO
    message, types = _TYPES.get(kind, ("document", frozenset[str]()))
    if base not in types:
        return SentAs(message="document", mime_type=base)
    return SentAs(
        message=message,
        mime_type=_OPUS if base == "audio/ogg" else base,
        is_voice=kind is MediaKind.VOICE,
    )


def respelt(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same for the other spelling of its phone number, if there is one."""
    number = message.get("to")
    if not isinstance(number, str) or not is_phone(number):
        return None
    return next(({**message, "to": spelling} for spelling in other_spellings(number)), None)


def _message(target: Target, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"messaging_product": "whatsapp", **recipient(target.chat), "type": kind, kind: dict(content)}


def _answered(target: Target) -> dict[str, Any]:
    """In a group a message points at the one that it answers."""
    if target.reply_to is None or not is_group(target.chat):
        return {}
    return {"context": {"message_id": target.reply_to}}

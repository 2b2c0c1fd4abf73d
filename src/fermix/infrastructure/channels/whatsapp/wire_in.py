"""What Meta tells in one call of the webhook, as the facts that the gateway takes: pure, and judging nothing.

A call holds entries, these hold changes, and each change any number of messages and statuses. What is odd is
passed over, and never what stands beside it. Source:
https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import orjson

from fermix.domain.normalise import RawMessage
from fermix.domain.phone_numbers import digits_of, other_spellings
from fermix.infrastructure.channels.whatsapp.content import SILENT_TYPES, Content, content_of
from fermix.infrastructure.channels.whatsapp.recipient import is_phone


class OddPayload(ValueError):
    """A body that is no notification of WhatsApp's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDelivered:
    """A message of ours that was taken at first and did not arrive."""

    message: str
    code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """The platform reports an error of its own, about no message."""

    code: int | None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something without the shape that is documented."""


Heard: TypeAlias = RawMessage | NotDelivered | Trouble | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Who is called, and what the call says of those who write.

    Attributes:
        number: our own phone number, its digits; empty where it is not told.
        contacts: by each of their ids.
    """

    number: str
    contacts: Mapping[str, Mapping[str, Any]]


def read(body: bytes, *, phone_number_id: str) -> Iterator[Heard]:
    """Everything for one of our numbers in one call, in its order; what is for other numbers is left out.

    Raises:
        OddPayload: it is no JSON, or no notification of WhatsApp's.
    """
    payload = _parsed(body)
    if not isinstance(payload, dict) or payload.get("object") != "whatsapp_business_account":
        raise OddPayload("not a notification of WhatsApp's")
    for entry in _list(payload.get("entry")):
        for change in _list(_dict(entry).get("changes")):
            if _dict(change).get("field") == "messages":
                yield from _value(_dict(_dict(change).get("value")), phone_number_id)
            elif not isinstance(change, dict):
                yield Unreadable()


def _parsed(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except ValueError:
        pass
    try:
        # Half of a surrogate pair in one message must not take the others with it.
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as exc:
        raise OddPayload("not JSON") from exc


def _value(value: Mapping[str, Any], phone_number_id: str) -> Iterator[Heard]:
    metadata = _dict(value.get("metadata"))
    called = metadata.get("phone_number_id")
    if called != phone_number_id:
        if not isinstance(called, str):
            yield Unreadable()
        return
    for error in _list(value.get("errors")):
        yield Trouble(code=_code(error))
    for status in _list(value.get("statuses")):
        if _dict(status).get("status") == "failed":
            errors = _list(_dict(status).get("errors")) or [None]
            yield NotDelivered(message=str(_dict(status).get("id"))[:200], code=_code(errors[0]))
    line = _Line(
        number=digits_of(_text(metadata.get("display_phone_number"))),
        contacts=dict(_contacts(value.get("contacts"))),
    )
    for message in _list(value.get("messages")):
        if (heard := _message(_dict(message), line)) is not None:
            yield heard


def _contacts(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for contact in _list(value):
        known = _dict(contact)
        for name in ("wa_id", "user_id"):
            if isinstance(known.get(name), str):
                yield known[name], known


def _message(message: Mapping[str, Any], line: _Line) -> RawMessage | Unreadable | None:
    kind, wamid = message.get("type"), message.get("id")
    if isinstance(kind, str) and kind in SILENT_TYPES:
        return None
    numbered = digits_of(_text(message.get("from")))
    user = _text(message.get("from_user_id"))
    if not isinstance(kind, str) or not isinstance(wamid, str) or not wamid or not (numbered or user):
        return Unreadable()
    if numbered and numbered == line.number:
        return None  # what we wrote ourselves
    edit = _dict(message.get("edit")) if kind == "edit" else None
    shown = message if edit is None else _dict(edit.get("message"))
    content = content_of(shown, own_number=line.number)
    if content is None:
        return None if message.get("type") == "unsupported" else Unreadable()
    raw = _raw(message, content, numbered or user, line)
    if edit is not None:
        original = edit.get("original_message_id")
        if not isinstance(original, str) or not original:
            return Unreadable()
        raw["key"] = raw["id"] = original
        raw["edited_at"] = raw.get("sent_at")
    return raw


def _raw(message: Mapping[str, Any], content: Content, sender: str, line: _Line) -> RawMessage:
    contact = line.contacts.get(_text(message.get("from"))) or line.contacts.get(
        _text(message.get("from_user_id")), {}
    )
    group = _text(message.get("group_id"))
    chat = group or sender
    return {
        "key": message["id"],
        "id": message["id"],
        "content": content.text,
        "raw_content": content.raw_text,
        "sender": _text(_dict(contact.get("profile")).get("name")) or sender,
        "sender_id": sender,
        "sender_aliases": _aliases(message, contact, sender),
        "chat_id": chat,
        "chat_kind": "group" if group else "direct",
        "reply_target": chat,
        "mentions": content.mentions,
        "mentions_detectable": bool(line.number),
        "references": content.references,
        "attachments": content.attachments,
        # Pictures that are sent together come one by one, with nothing that says so.
        "album": f"pictures of {sender}" if content.is_picture else None,
        "sent_at": _instant(message.get("timestamp")),
    }


def _aliases(message: Mapping[str, Any], contact: Mapping[str, Any], sender: str) -> list[str]:
    """Other ids of the same person, all of them told by the platform in fields of their own."""
    told = (
        contact.get("wa_id"),
        message.get("from_user_id"),
        contact.get("user_id"),
        message.get("from_parent_user_id"),
        contact.get("parent_user_id"),
    )
    ids = [sender, *(digits_of(one) for one in told if isinstance(one, str) and one)]
    ids += [spelling for one in ids if is_phone(one) for spelling in other_spellings(one)]
    return [one for one in dict.fromkeys(ids) if one != sender]


def _instant(value: object) -> datetime | None:
    text = value if isinstance(value, str) else ""
    if not text.isascii() or not text.isdigit() or len(text) > 11:
        return None
    return datetime.fromtimestamp(int(text), UTC)


def _code(error: object) -> int | None:
    code = _dict(error).get("code")
    return code if type(code) is int else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []

"""What signal-cli tells of a message, as the facts that the gateway takes: pure, and judging nothing.

Names of fields: the records `JsonMessageEnvelope` and `JsonDataMessage` of signal-cli 0.13. An envelope without a
message of a person (receipts, typing, calls, stories, what our own other devices did) is silent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, TypeAlias

from fermix.domain.normalise import RawMessage
from fermix.domain.phone_numbers import digits_of
from fermix.infrastructure.channels.signal.attachments import is_stored_name
from fermix.infrastructure.channels.signal.recipient import is_uuid, number_of

PLACEHOLDER = "\ufffc"
"""Stands in a text where somebody is mentioned."""

SHOWS_NOTHING = ("sticker", "pollCreate", "contacts", "payment")
"""Contents that a person sent and that no agent can read."""

_LAST_STAMP = 253_402_300_799_000
"""Milliseconds; the end of the year 9999."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Nobody wrote something."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something without the shape that signal-cli promises, or that it could not decrypt."""


Heard: TypeAlias = RawMessage | Silent | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class OurAccount:
    """Who we are there; `number` with `+`."""

    number: str

    def is_named(self, number: object) -> bool:
        """Whether it is our number."""
        return isinstance(number, str) and number_of(number) == self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Person:
    """Who wrote. The id of a user is there when a number is not, and stays when one appears."""

    number: str | None
    uuid: str | None

    @property
    def id(self) -> str:
        return self.uuid or digits_of(self.number or "")

    @property
    def reached_by(self) -> str:
        return self.number or self.uuid or ""

    @property
    def aliases(self) -> list[str]:
        """The number with and without its `+`."""
        numbers = [] if self.number is None else [digits_of(self.number), self.number]
        return [number for number in numbers if number != self.id]


def read_notice(notice: object, us: OurAccount) -> Heard:
    """One received message, as both transports hand it over."""
    told = _dict(notice)
    told = _dict(told["result"]) if "result" in told else told
    envelope = told.get("envelope")
    if not isinstance(envelope, dict):
        return Unreadable()
    if "syncMessage" in envelope:
        return Silent()  # what we, or our other devices, wrote to others is nobody's request
    edit = envelope.get("editMessage")
    data = _dict(edit).get("dataMessage") if edit is not None else envelope.get("dataMessage")
    if data is None and edit is None:
        return Unreadable() if told.get("exception") is not None else Silent()
    if not isinstance(data, dict):
        return Unreadable()
    return _message(envelope, data, None if edit is None else _dict(edit).get("targetSentTimestamp", 0), us)


def _message(envelope: Mapping[str, Any], data: Mapping[str, Any], edits: object, us: OurAccount) -> Heard:
    person = _person(envelope)
    stamp = _stamp(data.get("timestamp")) or _stamp(envelope.get("timestamp"))
    first = stamp if edits is None else _stamp(edits)
    text = data.get("message")
    if person is None or stamp is None or first is None or not isinstance(text, str | None):
        return Unreadable()
    attachments = list(_attachments(data))
    if us.is_named(person.number) or _says_nothing(data, text or "", attachments):
        return Silent()
    group = _group(data)
    if group is None:
        return Unreadable()
    raw = _raw(person, data, _shown(text or "", _list(data.get("mentions")), us), us)
    in_group = group.get("groupId")
    raw |= {
        "key": f"{person.id}:{first}",
        "id": f"{first}:{person.id}" if in_group else str(first),
        "sender": _text(envelope.get("sourceName")) or person.reached_by,
        "chat_id": in_group or person.id,
        "chat_kind": "group" if in_group else "direct",
        "chat_title": _text(group.get("groupName")) or None,
        "reply_target": in_group or person.reached_by,
        "attachments": attachments,
        "sent_at": _instant(first),
    }
    if edits is not None:
        raw["edited_at"] = _instant(stamp)
    return raw


def _says_nothing(data: Mapping[str, Any], text: str, attachments: Sequence[object]) -> bool:
    """Whether it is a change of a group, a timer or a profile, a reaction, a vote or a deletion."""
    if data.get("reaction") is not None or data.get("remoteDelete") is not None:
        return True
    return not text and not attachments


def _group(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The group that a message stands in, nothing for a direct one; `None` when it cannot be read."""
    group = data.get("groupInfo")
    if group is None:
        return {}
    return group if isinstance(group, dict) and _text(group.get("groupId")) else None


def _person(envelope: Mapping[str, Any]) -> _Person | None:
    source = _text(envelope.get("source"))
    number = number_of(_text(envelope.get("sourceNumber"))) or number_of(source)
    told = _text(envelope.get("sourceUuid"))
    uuid = next((one.lower() for one in (told, source) if is_uuid(one)), None)
    return _Person(number=number, uuid=uuid) if number or uuid else None


def _raw(person: _Person, data: Mapping[str, Any], shown: "_Shown", us: OurAccount) -> RawMessage:
    return {
        "content": shown.without_us,
        "raw_content": shown.text,
        "sender_id": person.id,
        "sender_aliases": person.aliases,
        "mentions": shown.mentions,
        "mentions_detectable": True,
        "references": list(_references(data, us)),
    }


def _references(data: Mapping[str, Any], us: OurAccount) -> Iterator[dict[str, object]]:
    quote = data.get("quote")
    if not isinstance(quote, dict):
        return
    number, uuid = _text(quote.get("authorNumber")), _text(quote.get("authorUuid"))
    author = number or uuid or _text(quote.get("author")) or None
    text = quote.get("text")
    stamp = _stamp(quote.get("id"))
    yield {
        "kind": "reply",
        "message": None if stamp is None else str(stamp),
        "author": author,
        "text": _shown(text, _list(quote.get("mentions")), us).text if isinstance(text, str) else None,
        "is_ours": us.is_named(number or author),
    }


def _attachments(data: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """What hangs on a message, by the name that signal-cli has stored it under."""
    for one in _list(data.get("attachments")):
        told = _dict(one)
        name, mime = _text(told.get("id")), _text(told.get("contentType"))
        if not is_stored_name(name):
            yield {"kind": "other", "reference": "nothing to fetch"}
            continue
        yield {
            "kind": _kind(mime),
            "reference": name,
            "mime_type": mime or None,
            "size_bytes": told.get("size"),
            "name": _text(told.get("filename")) or None,
        }
    if any(data.get(name) for name in SHOWS_NOTHING):
        yield {"kind": "other", "reference": "nothing to fetch"}


def _kind(mime: str) -> str:
    """Signal's own apps put longer texts into a file, which signal-cli puts back into the message."""
    kind = mime.lower().partition("/")[0]
    return kind if kind in {"image", "audio"} else "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A text with names where placeholders stood."""

    text: str
    without_us: str
    mentions: list[dict[str, str | int | bool]]


def _shown(text: str, told: Sequence[object], us: OurAccount) -> _Shown:
    """Put names where somebody is mentioned; places are told in units of UTF-16."""
    named = {}
    places = _code_points(text) if told else {}
    for one in map(_dict, told):
        place = one.get("start")
        start = places.get(place) if type(place) is int else None
        if start is not None and start < len(text) and text[start] == PLACEHOLDER:
            named[start] = one
    pieces, mentions, length, at = list[str](), list[dict[str, str | int | bool]](), 0, 0
    for start, one in sorted(named.items()):
        number, uuid = _text(one.get("number")), _text(one.get("uuid"))
        who = uuid or number or _text(one.get("name"))
        label = f"@{_label(one, number or who)}"
        pieces += [text[at:start], label]
        length += start - at
        ours = us.is_named(number)
        mentions.append({"id": who, "start": length, "end": length + len(label), "is_us": ours})
        length += len(label)
        at = start + 1
    whole = "".join([*pieces, text[at:]])
    return _Shown(text=whole, without_us=_without_us(whole, mentions), mentions=mentions)


def _label(mention: Mapping[str, Any], usual: str) -> str:
    name = _text(mention.get("name"))
    return usual if not name or is_uuid(name) else name


def _code_points(text: str) -> Mapping[int, int]:
    """The characters by their offsets in UTF-16 units; offsets inside a character lead nowhere."""
    before = accumulate((2 if letter > "\uffff" else 1 for letter in text), initial=0)
    return {offset: index for index, offset in enumerate(before)}


def _without_us(text: str, mentions: Sequence[Mapping[str, str | int | bool]]) -> str:
    """The text without our name at its start or end; inside a sentence it stays a part of it."""
    for mention in mentions:
        start, end = int(mention["start"]), int(mention["end"])
        if not mention["is_us"]:
            continue
        if not text[:start].strip():
            return text[end:].lstrip(" ,:\n")
        if not text[end:].strip():
            return text[:start].rstrip()
    return text


def _stamp(value: object) -> int | None:
    return value if type(value) is int and 0 < value < _LAST_STAMP else None


def _instant(stamp: int) -> datetime:
    return datetime.fromtimestamp(stamp / 1000, UTC)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []

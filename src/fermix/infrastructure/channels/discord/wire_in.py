"""What Discord tells of a message, as the facts that the gateway takes: pure, and judging nothing.

Messages are read as they come over the wire, so that one that came by the gateway and one that was read back after
a start are the same. Source: https://discord.com/developers/docs/resources/message.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fermix.domain.normalise import RawMessage

DEFAULT = 0
REPLY = 19
TYPES = frozenset({DEFAULT, REPLY})
"""What people write; all other types are notices (joins, pins, new threads, boosts)."""

FORWARD = 1
GROUP_DIRECT = 3

_MENTION = re.compile(r"(?<!\\)<@!?(?P<id>[0-9]{1,20})>")
_CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]+`", re.DOTALL)


class OddEvent(ValueError):
    """An event that has not the shape that Discord promises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OurBot:
    """Who we are there, and the application that we are part of."""

    id: str
    application: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is known of a chat beside the messages in it.

    Attributes:
        parent: the channel that a thread hangs on.
        guild: the server that it belongs to, of a chat that is read back: only the gateway's messages name it.
    """

    title: str | None = None
    parent: str | None = None
    guild: str | None = None


def read_us(ready: Mapping[str, Any]) -> OurBot:
    """Who a session is for.

    Raises:
        OddEvent: it does not say.
    """
    user, application = ready.get("user"), ready.get("application")
    if not isinstance(user, dict) or not isinstance(application, dict):
        raise OddEvent("a session for nobody")
    return OurBot(
        id=snowflake(user.get("id")),
        application=snowflake(application.get("id")),
        name=str(user.get("username", "")),
    )


def snowflake(value: object) -> str:
    """An id.

    Raises:
        OddEvent: it is none.
    """
    if not isinstance(value, str) or not (value.isascii() and value.isdecimal() and len(value) <= 20):
        raise OddEvent("an id that is none")
    return value


def read_message(data: Mapping[str, Any], us: OurBot, room: Room) -> RawMessage | None:
    """The message in an event; `None` for notices of Discord's and for what we wrote ourselves.

    Raises:
        OddEvent: it has not the promised shape.
    """
    author = data.get("author")
    if not isinstance(author, dict):
        raise OddEvent("a message from nobody")
    if data.get("type") not in TYPES or author.get("id") == us.id:
        return None
    text, chat = data.get("content"), snowflake(data.get("channel_id"))
    if not isinstance(text, str):
        raise OddEvent("a message without a text")
    guild = data.get("guild_id") or room.guild
    mentions = list(_mentions(text, _people(data.get("mentions")), us))
    number = snowflake(data.get("id"))
    raw: RawMessage = {
        "id": number,
        "content": _without_us(text, mentions),
        "raw_content": text,
        **sender_facts(author, data.get("member")),
        "sender_is_bot": author.get("bot") is True or data.get("webhook_id") is not None,
        "chat_id": chat,
        "chat_kind": chat_kind(guild, data.get("channel_type")),
        "chat_title": None if guild is None else room.title,
        "chat_parent": None if guild is None else room.parent,
        "guild": guild,
        "reply_target": chat,
        "mentions": mentions,
        "mentions_detectable": True,
        "references": list(_references(data, us)),
        "attachments": list(_attachments(data, chat, number)),
        "sent_at": _instant(data.get("timestamp")),
    }
    return raw


def read_edit(data: Mapping[str, Any], us: OurBot, room: Room) -> RawMessage | None:
    """The message in an event of a change; `None` where nobody changed its text (a preview was added, a pin).

    Raises:
        OddEvent: it has not the promised shape.
    """
    edited = _instant(data.get("edited_timestamp"))
    if edited is None or "author" not in data or "content" not in data:
        return None
    raw = read_message(data, us, room)
    if raw is not None:
        raw["edited_at"] = edited
    return raw


def chat_kind(guild: object, channel_type: object) -> str:
    """What sort of place a chat is; only the channels of a server name one."""
    if guild is not None:
        return "channel"
    return "group" if channel_type == GROUP_DIRECT else "direct"


def sender_facts(author: Mapping[str, Any], member: object) -> RawMessage:
    """Who somebody is, with what only their server knows of them."""
    known = member if isinstance(member, dict) else {}
    roles = known.get("roles")
    names = (known.get("nick"), author.get("global_name"), author.get("username"))
    return {
        "sender": next((name for name in names if isinstance(name, str) and name), "unknown"),
        "sender_id": snowflake(author.get("id")),
        "sender_is_bot": author.get("bot") is True,
        "sender_roles": roles if isinstance(roles, list) else [],
    }


def _people(named: object) -> frozenset[object]:
    """The ids of those whom Discord found to be named; a reply may name its author without a word."""
    if not isinstance(named, list):
        return frozenset()
    ids = (person.get("id") for person in named if isinstance(person, dict))
    return frozenset(each for each in ids if isinstance(each, str))


def _mentions(text: str, people: frozenset[object], us: OurBot) -> Iterator[Mapping[str, object]]:
    """Who is named, and where; what stands in code or is escaped names nobody."""
    prose = _CODE.sub(lambda found: " " * len(found[0]), text)
    found = [(each["id"], each.start(), each.end()) for each in _MENTION.finditer(prose)]
    for name, start, end in found:
        yield {"id": name, "start": start, "end": end, "is_us": name == us.id}
    if us.id in people and all(name != us.id for name, _start, _end in found):
        yield {"id": us.id, "start": 0, "end": 0, "is_us": True}


def _without_us(text: str, mentions: Sequence[Mapping[str, object]]) -> str:
    """The text without our name at its start or end; inside a sentence it stays a part of it."""
    for mention in mentions:
        start, end = mention["start"], mention["end"]
        if not mention["is_us"] or not isinstance(start, int) or not isinstance(end, int) or start == end:
            continue
        if not text[:start].strip():
            return text[end:].lstrip(" ,:\n")
        if not text[end:].strip():
            return text[:start].rstrip()
    return text


def _references(data: Mapping[str, Any], us: OurBot) -> Iterator[Mapping[str, object]]:
    points_at = data.get("message_reference")
    if not isinstance(points_at, dict):
        return
    if points_at.get("type") == FORWARD:
        for snapshot in _snapshots(data):
            yield {
                "kind": "forward",
                "message": points_at.get("message_id"),
                "text": _words(snapshot),
            }
        return
    replied = data.get("referenced_message")
    replied = replied if isinstance(replied, dict) else {}
    author = replied.get("author")
    author = author if isinstance(author, dict) else {}
    yield {
        "kind": "reply",
        "message": points_at.get("message_id"),
        "author": author.get("global_name") or author.get("username"),
        "text": _words(replied),
        "is_ours": author.get("id") == us.id,
    }


def _words(message: Mapping[str, Any]) -> object:
    return message.get("content") or None


def _snapshots(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    snapshots = data.get("message_snapshots")
    for snapshot in snapshots if isinstance(snapshots, list) else ():
        message = snapshot.get("message") if isinstance(snapshot, dict) else None
        if isinstance(message, dict):
            yield message


def _attachments(data: Mapping[str, Any], chat: str, number: str) -> Iterator[Mapping[str, object]]:
    """What hangs on a message or on what it forwards, by what it can be asked for again; addresses expire."""
    for message in (data, *_snapshots(data)):
        files = message.get("attachments")
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict):
                yield _file(file, chat, number)
        if message.get("sticker_items") or message.get("poll"):
            yield {"kind": "other", "reference": "nothing to fetch"}


def _file(file: Mapping[str, Any], chat: str, number: str) -> Mapping[str, object]:
    mime = file.get("content_type")
    mime = mime.partition(";")[0].strip().lower() if isinstance(mime, str) else ""
    kind = {"image": "image", "audio": "audio"}.get(mime.partition("/")[0], "file")
    return {
        "kind": kind,
        "reference": f"{chat}/{number}/{snowflake(file.get('id'))}",
        "mime_type": mime or None,
        "size_bytes": file.get("size"),
        "name": file.get("filename"),
    }


def _instant(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """Where an attachment is, for some hours."""

    address: str
    size_bytes: int | None


def read_reference(reference: str) -> tuple[int, int, int] | None:
    """Chat, message and attachment of `Attachment.reference`; `None` when it names none."""
    parts = reference.split("/")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() and len(part) <= 20 for part in parts):
        return None
    chat, message, attachment = parts
    return int(chat), int(message), int(attachment)


def stored_file(message: Mapping[str, Any], number: int) -> StoredFile | None:
    """An attachment of a message, or of what it forwards, by its number."""
    for holder in (message, *_snapshots(message)):
        files = holder.get("attachments")
        for file in files if isinstance(files, list) else ():
            if not isinstance(file, dict) or file.get("id") != str(number):
                continue
            size, address = file.get("size"), file.get("url")
            if isinstance(address, str):
                return StoredFile(address=address, size_bytes=size if type(size) is int else None)
    return None


def our_reactions(message: Mapping[str, Any]) -> list[str]:
    """The emoji that we have put on a message."""
    reactions = message.get("reactions")
    ours = [
        each.get("emoji")
        for each in (reactions if isinstance(reactions, list) else ())
        if isinstance(each, dict) and each.get("me") is True
    ]
    return [emoji["name"] for emoji in ours if isinstance(emoji, dict) and isinstance(emoji.get("name"), str)]

"""What Telegram tells of a message, as the facts that the gateway takes: pure, and judging nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from telegram import (
    Message,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    Update,
    User,
)

from fermix.domain.normalise import RawMessage

GENERAL_TOPIC = 1
"""The topic every forum has; its messages carry no thread id, and none must be sent."""

KINDS = {"private": "direct", "group": "group", "supergroup": "group", "channel": "channel"}
_COMMAND = re.compile(r"(?P<command>/\w+)@(?P<bot>\w+)(?=\s|$)", re.ASCII)


class OddUpdate(ValueError):
    """An update that has not the shape the Bot API promises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OurBot:
    """Who we are there.

    Attributes:
        hears_all: whether it sees every message of a group; else its privacy mode keeps back what is not for it.
    """

    id: int
    name: str
    hears_all: bool = True

    def is_named(self, name: str) -> bool:
        """Whether `name` (without `@`) is our user name."""
        return name.lower() == self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A group that has become a supergroup, with another id."""

    old: str
    new: str


def read_us(raw: object) -> OurBot:
    """The answer of `getMe`.

    Raises:
        OddUpdate: it names nobody.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), int):
        raise OddUpdate("getMe names nobody")
    return OurBot(
        id=raw["id"],
        name=str(raw.get("username", "")),
        hears_all=raw.get("can_read_all_group_messages") is not False,
    )


def read_move(update: Update) -> Moved | None:
    """The move of a group that an update tells of."""
    message = update.message
    if message is None:
        return None
    if message.migrate_to_chat_id is not None:
        return Moved(old=str(message.chat.id), new=str(message.migrate_to_chat_id))
    if message.migrate_from_chat_id is not None:
        return Moved(old=str(message.migrate_from_chat_id), new=str(message.chat.id))
    return None


def read_update(update: Update, us: OurBot) -> RawMessage | None:
    """The message in an update; `None` for what nobody wrote (joins, pins, titles) and kinds we do not take.

    Raises:
        OddUpdate: a message without a sender.
    """
    message = update.message or update.edited_message
    if message is None or message.chat.type == "channel":
        return None
    text = message.text or message.caption or ""
    attachments = list(_attachments(message))
    if not text and not attachments:
        if message.from_user is None and message.sender_chat is None:
            raise OddUpdate("a message from nobody")
        return None
    raw = _raw(message, text, us)
    raw["attachments"] = attachments
    if update.edited_message is not None:
        raw["edited_at"] = message.edit_date or message.date
    return raw


def _raw(message: Message, text: str, us: OurBot) -> RawMessage:
    sender = message.from_user
    if sender is None:
        raise OddUpdate("a message from nobody")
    mentions = list(_mentions(text, message.entities or message.caption_entities, us))
    own_words = "" if message.forward_origin is not None else _without_us(text, mentions)
    command = _COMMAND.match(own_words)
    raw: RawMessage = {
        "id": message.message_id,
        "content": own_words,
        "raw_content": text,
        "sender": sender.username or sender.first_name or "unknown",
        "sender_id": sender.id,
        # Whoever writes as a chat (a channel, an anonymous admin) hides behind an account that is nobody's.
        "sender_is_bot": sender.is_bot or message.sender_chat is not None,
        "chat_id": message.chat.id,
        "chat_kind": KINDS.get(message.chat.type, "group"),
        "chat_title": message.chat.title,
        "reply_target": message.chat.id,
        "thread_ts": topic_of(message),
        "mentions": mentions,
        "mentions_detectable": True,
        "references": list(_references(message, text, us)),
        "album": message.media_group_id,
        "sent_at": message.date,
    }
    if command is not None:
        if us.is_named(command["bot"]):
            raw["content"] = own_words[: command.end("command")] + own_words[command.end() :]
        else:
            raw["command_bot"] = command["bot"]
    return raw


def topic_of(message: Message) -> int | None:
    """The topic of a forum; the thread that Telegram makes of replies elsewhere is none."""
    thread = message.message_thread_id
    return thread if message.is_topic_message and thread != GENERAL_TOPIC else None


def _mentions(
    text: str, entities: Sequence[MessageEntity], us: OurBot
) -> Iterator[dict[str, str | int | bool]]:
    named = [entity for entity in entities if entity.type in {"mention", "text_mention"}]
    places = _code_points(text) if named else {}
    for entity in named:
        start, end = places.get(entity.offset), places.get(entity.offset + entity.length)
        if start is None or end is None or start >= end:
            continue
        if entity.type == "text_mention" and entity.user is not None:
            yield {"id": str(entity.user.id), "start": start, "end": end, "is_us": entity.user.id == us.id}
        else:
            name = text[start:end].removeprefix("@")
            yield {"id": name, "start": start, "end": end, "is_us": us.is_named(name)}


def _code_points(text: str) -> Mapping[int, int]:
    """The characters by their offsets in UTF-16 units, and the end; offsets inside a character lead nowhere."""
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


def _references(message: Message, text: str, us: OurBot) -> Iterator[dict[str, object]]:
    if message.forward_origin is not None:
        yield _forward(message, text, us)
    quote = None if message.quote is None else message.quote.text
    replied = message.reply_to_message
    if replied is not None and replied.forum_topic_created is None:
        yield {
            "kind": "reply" if quote is None else "quote",
            "message": replied.message_id,
            "author": _author(replied),
            "text": quote or replied.text or replied.caption,
            "is_ours": replied.from_user is not None and replied.from_user.id == us.id,
        }
    elif quote is not None:
        yield {"kind": "quote", "text": quote}


def _forward(message: Message, text: str, us: OurBot) -> dict[str, object]:
    author, ours = None, False
    match message.forward_origin:
        case MessageOriginUser(sender_user=user):
            author, ours = _name(user), user.id == us.id
        case MessageOriginHiddenUser(sender_user_name=name):
            author = name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            author = chat.title or chat.username
        case _:
            pass
    return {"kind": "forward", "author": author, "text": text or None, "is_ours": ours}


def _author(message: Message) -> str | None:
    if message.sender_chat is not None:
        return message.sender_chat.title
    return None if message.from_user is None else _name(message.from_user)


def _name(user: User) -> str:
    return user.username or user.first_name


def _attachments(message: Message) -> Iterator[dict[str, object]]:
    """What hangs on a message, by the id it can be fetched with again."""
    if message.photo:
        largest = max(message.photo, key=lambda size: size.width * size.height)
        yield _file("image", largest.file_id, "image/jpeg", largest.file_size)
    elif message.voice:
        yield _file("audio", message.voice.file_id, "audio/ogg", message.voice.file_size)
    elif message.video_note:
        yield _file("audio", message.video_note.file_id, "video/mp4", message.video_note.file_size)
    elif message.audio:
        audio = message.audio
        yield _file("audio", audio.file_id, audio.mime_type, audio.file_size, audio.file_name)
    elif paper := message.video or message.document:
        kind = "audio" if (paper.mime_type or "").lower().startswith("audio/") else "file"
        yield _file(kind, paper.file_id, paper.mime_type, paper.file_size, paper.file_name)
    elif message.effective_attachment:
        yield _file("other", "nothing to fetch", None, None)


def _file(
    kind: str, reference: str, mime: str | None, size: int | None, name: str | None = None
) -> dict[str, object]:
    return {"kind": kind, "reference": reference, "mime_type": mime, "size_bytes": size, "name": name}

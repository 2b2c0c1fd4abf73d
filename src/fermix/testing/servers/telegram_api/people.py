"""What people write, in the shapes the Bot API hands over: https://core.telegram.org/bots/api#message."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fermix.testing.servers.telegram_api.chats import Chat
from fermix.testing.servers.telegram_api.entities import units
from fermix.testing.servers.telegram_api.records import Json
from fermix.testing.servers.telegram_api.world import World

_FOUND = re.compile(
    r"(?<![\w/])(?P<bot_command>/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?)(?!\w)"
    r"|(?<!\w)(?P<mention>@[A-Za-z]\w{4,31})(?!\w)"
    r"|(?P<url>https?://[^\s]+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """One act of writing; see `TelegramServer.user_writes`."""

    chat: int
    text: str
    user: int
    chat_type: str | None
    thread: int | None
    edit_of: int | None
    entities: Sequence[Json] | None
    reply_to: int | None
    raw: Mapping[str, Any]


def written(world: World, writing: Writing) -> Json:
    """The message, kept so that later ones can point at it."""
    chat = world.chats.know(writing.chat, writing.chat_type)
    if writing.thread is not None:
        world.chats.open_topic(writing.chat, writing.thread)
    message: Json = {
        "message_id": writing.edit_of or world.chats.next_message_id(chat),
        "from": person(writing.user),
        "chat": chat.json(),
        "date": world.date(),
    }
    if writing.edit_of is not None:
        before = world.messages.get((chat.id, writing.edit_of), {})
        message["date"] = before.get("date", message["date"])
        message["edit_date"] = world.date()
    if writing.thread is not None:
        message |= {"message_thread_id": writing.thread, "is_topic_message": True}
    message |= _pointer(world, chat, writing)
    if writing.text:
        message["text"] = writing.text
        entities = found_in(writing.text) if writing.entities is None else list(writing.entities)
        if entities:
            message["entities"] = entities
    message |= writing.raw
    message = {name: value for name, value in message.items() if value is not None}
    world.messages[chat.id, message["message_id"]] = message
    return message


def _pointer(world: World, chat: Chat, writing: Writing) -> Json:
    """What it replies to. In a topic, whatever replies to nothing replies to the topic's creation."""
    if writing.reply_to is not None:
        unknown = {"message_id": writing.reply_to, "date": 0, "chat": chat.json()}
        target = world.messages.get((chat.id, writing.reply_to), unknown)
        return {"reply_to_message": {k: v for k, v in target.items() if k != "reply_to_message"}}
    if writing.thread is None:
        return {}
    created = {
        "message_id": writing.thread,
        "from": person(writing.user),
        "chat": chat.json(),
        "date": world.date(),
        "message_thread_id": writing.thread,
        "is_topic_message": True,
        "forum_topic_created": {"name": f"Topic {writing.thread}", "icon_color": 7322096},
    }
    return {"reply_to_message": created}


def person(user: int) -> Json:
    """Somebody with that id."""
    return {
        "id": user,
        "is_bot": False,
        "first_name": f"User {user}",
        "username": f"user{user}",
        "language_code": "en",
    }


def found_in(text: str) -> list[Json]:
    """Commands, mentions and links, as Telegram's clients mark them."""
    return [
        {"type": str(found.lastgroup), "offset": units(text[: found.start()]), "length": units(found[0])}
        for found in _FOUND.finditer(text)
    ]

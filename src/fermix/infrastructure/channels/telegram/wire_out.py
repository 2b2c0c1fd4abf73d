"""Our parts as parameters of the Bot API's methods."""

import re

from fermix.domain.caps import CAPS
from fermix.domain.commands import CommandSpec
from fermix.domain.ids import ChannelName
from fermix.domain.normalise import clean
from fermix.domain.route import Target
from fermix.domain.splitting import TextUnit, units
from fermix.infrastructure.channels.telegram.markdown import render
from fermix.infrastructure.channels.telegram.rich_text import RichText

CAPS_HERE = CAPS[ChannelName("telegram")]

MAX_TEXT = 4096
"""UTF-16 units of one message; https://core.telegram.org/bots/api#sendmessage."""

MAX_CAPTION = 1024
"""UTF-16 units under a file; https://core.telegram.org/bots/api#sendphoto."""

MAX_COMMANDS = 100
_MAX_DESCRIPTION = 256
_MESSAGE_NUMBER = re.compile(r"[0-9]{1,18}")
_MENU_NAME = re.compile(r"[a-z0-9_]{1,32}")


def formatted(text: str, *, limit: int = MAX_TEXT) -> RichText:
    """The agent's Markdown as words that the server takes; raw where looks would make it too long."""
    rich = render(text)
    return rich if units(rich.text, TextUnit.UTF16) <= limit else raw(text)


def raw(text: str) -> RichText:
    """The agent's Markdown as it is written: the last resort, which no entity can spoil."""
    return RichText(text=clean(text))


def place(target: Target, chat: str) -> dict[str, object]:
    """Where something goes: the chat as it is called now, and the topic."""
    thread = {} if target.thread is None else {"message_thread_id": target.thread}
    return {"chat_id": chat, **thread}


def message(target: Target, chat: str, text: RichText) -> dict[str, object]:
    """Parameters of `sendMessage`: in the target's topic, without previews of links.

    In a group it points at the message that it answers; that one may be gone by now.
    """
    return {**place(target, chat), **_words(text), **_pointing(target, chat)}


def captioned(target: Target, chat: str, text: RichText) -> dict[str, object]:
    """Parameters of a file: where, its caption if it has one, and what it points at, as a message does."""
    caption: dict[str, object] = {}
    if text.text.strip():
        caption["caption"] = text.text
        if text.entities:
            caption["caption_entities"] = [entity.as_json() for entity in text.entities]
    return {**place(target, chat), **caption, **_pointing(target, chat)}


def reaction(chat: str, number: int, emoji: str) -> dict[str, object]:
    """Parameters of `setMessageReaction`: this one, in place of ours that stands there."""
    return {"chat_id": chat, "message_id": number, "reaction": [{"type": "emoji", "emoji": emoji}]}


def _pointing(target: Target, chat: str) -> dict[str, object]:
    number = _MESSAGE_NUMBER.fullmatch(target.reply_to or "")
    if number is None or not is_group(chat) or chat != target.chat:
        return {}
    return {"reply_parameters": {"message_id": int(number[0]), "allow_sending_without_reply": True}}


def edit(chat: str, number: int, text: RichText) -> dict[str, object]:
    """Parameters of `editMessageText`; what the message points at, and its topic, stay as they are."""
    return {"chat_id": chat, "message_id": number, **_words(text)}


def _words(text: RichText) -> dict[str, object]:
    entities = {"entities": [entity.as_json() for entity in text.entities]} if text.entities else {}
    return {"text": text.text, "link_preview_options": {"is_disabled": True}, **entities}


def is_group(chat: str) -> bool:
    """Whether a chat is shared; Telegram gives those negative ids."""
    return chat.startswith("-")


def menu(commands: tuple[CommandSpec, ...]) -> list[dict[str, str]]:
    """The commands of a chat's menu, each under its own name only."""
    return [
        {"command": spec.name, "description": spec.description[:_MAX_DESCRIPTION]}
        for spec in commands[:MAX_COMMANDS]
        if _MENU_NAME.fullmatch(spec.name)
    ]

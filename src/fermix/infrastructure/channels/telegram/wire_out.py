"""Our parts as parameters of the Bot API's methods."""

import re

from fermix.application.ports.channel import OutgoingPart
from fermix.domain.commands import CommandSpec
from fermix.domain.normalise import clean
from fermix.domain.route import Target
from fermix.domain.splitting import TextUnit, units
from fermix.infrastructure.channels.telegram.markdown import render
from fermix.infrastructure.channels.telegram.rich_text import RichText

MAX_TEXT = 4096
"""UTF-16 units of one message; https://core.telegram.org/bots/api#sendmessage."""

MAX_COMMANDS = 100
_MAX_DESCRIPTION = 256
_MENU_NAME = re.compile(r"[a-z0-9_]{1,32}")


def formatted(text: str) -> RichText:
    """The agent's Markdown as a message that the server takes; raw where looks would make it too long."""
    rich = render(text)
    return rich if units(rich.text, TextUnit.UTF16) <= MAX_TEXT else raw(text)


def raw(text: str) -> RichText:
    """The agent's Markdown as it is written: the last resort, which no entity can spoil."""
    return RichText(text=clean(text))


def place(target: Target, chat: str) -> dict[str, object]:
    """Where something goes: the chat as it is called now, and the topic."""
    thread = {} if target.thread is None else {"message_thread_id": target.thread}
    return {"chat_id": chat, **thread}


def message(part: OutgoingPart, chat: str, text: RichText) -> dict[str, object]:
    """Parameters of `sendMessage`: in the part's topic, without previews of links.

    In a group it points at the message that it answers; that one may be gone by now.
    """
    parameters: dict[str, object] = {
        **place(part.target, chat),
        "text": text.text,
        "link_preview_options": {"is_disabled": True},
    }
    if text.entities:
        parameters["entities"] = [entity.as_json() for entity in text.entities]
    if part.target.reply_to is not None and is_group(chat) and chat == part.target.chat:
        parameters["reply_parameters"] = {
            "message_id": int(part.target.reply_to),
            "allow_sending_without_reply": True,
        }
    return parameters


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

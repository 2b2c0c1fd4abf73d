"""What the methods do: https://core.telegram.org/bots/api#available-methods. All but `getUpdates`."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from fermix.testing.servers.telegram_api.chats import Chat, thread_in
from fermix.testing.servers.telegram_api.entities import formatted
from fermix.testing.servers.telegram_api.files import KINDS, send_file, set_message_reaction
from fermix.testing.servers.telegram_api.parameters import Parameters
from fermix.testing.servers.telegram_api.records import Json, Shown
from fermix.testing.servers.telegram_api.refusal import BadRequest
from fermix.testing.servers.telegram_api.world import World

Method: TypeAlias = Callable[[World, Parameters], Any]

_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a "
    "current content and reply markup of the message"
)
_ACTIONS = frozenset(
    {
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    }
)
_COMMAND = re.compile(r"[a-z0-9_]{1,32}", re.ASCII)
_SCOPES = frozenset(
    {
        "default",
        "all_private_chats",
        "all_group_chats",
        "all_chat_administrators",
        "chat",
        "chat_administrators",
        "chat_member",
    }
)
MAX_COMMANDS = 100
MAX_DESCRIPTION = 256
MAX_CALLBACK_BYTES = 64
MAX_TAP_ANSWER = 200
MAX_DOWNLOAD = 20 * 1024 * 1024


def get_me(world: World, _given: Parameters) -> Json:
    """The bot itself."""
    return {
        **world.me(),
        "can_join_groups": True,
        "can_read_all_group_messages": not world.keeps_privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def send_message(world: World, given: Parameters) -> Json:
    """Post a text; the message."""
    text = _text(given)
    chat = world.chats.open_to_bot(given.text("chat_id"))
    text, entities = formatted(text, given.structure("entities", "entities"))
    thread = thread_in(chat, given.text("message_thread_id"))
    reply_to = _reply(world, chat, given)
    previews = _previews(given)
    markup = _markup(given)
    if world.real_limits:
        world.flood.admit(chat.id, now=time.monotonic())
    shown = Shown(
        message_id=world.chats.next_message_id(chat),
        chat=chat.id,
        thread=thread,
        text=text,
        entities=entities,
        reply_to=reply_to,
        previews=previews,
        edits=0,
        at=time.monotonic(),
    )
    return _keep(world, chat, shown, markup)


def edit_message_text(world: World, given: Parameters) -> Json:
    """Change the text of one of the bot's messages; the message."""
    text = _text(given)
    chat = world.chats.open_to_bot(given.text("chat_id"))
    number = given.whole("message_id")
    if number <= 0:
        raise BadRequest("message identifier is not specified")
    if (chat.id, number) not in world.messages:
        raise BadRequest("message to edit not found")
    before = world.own.get((chat.id, number))
    if before is None:
        raise BadRequest("message can't be edited")
    text, entities = formatted(text, given.structure("entities", "entities"))
    previews = _previews(given)
    markup = _markup(given)
    old_markup = world.messages[chat.id, number].get("reply_markup")
    if (text, entities, markup) == (before.text, before.entities, old_markup):
        raise BadRequest(_NOT_MODIFIED)
    if world.real_limits:
        world.flood.admit(chat.id, now=time.monotonic())
    after = replace(before, text=text, entities=entities, previews=previews, edits=before.edits + 1)
    return _keep(world, chat, after, markup)


def edit_message_reply_markup(world: World, given: Parameters) -> Json:
    """Change or remove the buttons of one of the bot's messages; the message."""
    chat = world.chats.open_to_bot(given.text("chat_id"))
    number = given.whole("message_id")
    before = world.own.get((chat.id, number))
    if before is None:
        raise BadRequest("message to edit not found")
    markup = _markup(given)
    if world.messages[chat.id, number].get("reply_markup") == markup:
        raise BadRequest(_NOT_MODIFIED)
    return _keep(world, chat, replace(before, edits=before.edits + 1), markup)


def answer_callback_query(world: World, given: Parameters) -> bool:
    """Tell the one who tapped; once for a tap."""
    number = given.text("callback_query_id")
    if number not in world.taps:
        raise BadRequest("query is too old and response timeout expired or query ID is invalid")
    if len(given.text("text")) > MAX_TAP_ANSWER:
        raise BadRequest("MESSAGE_TOO_LONG")
    world.taps.discard(number)
    return True


def delete_message(world: World, given: Parameters) -> bool:
    """Take one of the bot's messages away; people's messages it may not delete here."""
    chat = world.chats.open_to_bot(given.text("chat_id"))
    number = given.whole("message_id")
    if (chat.id, number) not in world.messages:
        raise BadRequest("message to delete not found")
    if (chat.id, number) not in world.own:
        raise BadRequest("message can't be deleted")
    del world.messages[chat.id, number], world.own[chat.id, number]
    world.changed.notify_all()
    return True


def send_chat_action(world: World, given: Parameters) -> bool:
    """Show that the bot is busy, for about five seconds."""
    chat = world.chats.open_to_bot(given.text("chat_id"))
    thread_in(chat, given.text("message_thread_id"), general=True)
    if given.text("action") not in _ACTIONS:
        raise BadRequest("wrong parameter action in request")
    return True


def set_my_commands(world: World, given: Parameters) -> bool:
    """Replace the command menu of one scope."""
    commands = given.structure("commands", "commands")
    if not isinstance(commands, list):
        raise BadRequest("can't parse commands: expected an Array")
    if len(commands) > MAX_COMMANDS:
        raise BadRequest("BOT_COMMANDS_TOO_MUCH")
    world.commands[_scope(given)] = [_command(command) for command in commands]
    return True


def get_my_commands(world: World, given: Parameters) -> list[Json]:
    """The command menu of one scope."""
    return world.commands.get(_scope(given), [])


def delete_my_commands(world: World, given: Parameters) -> bool:
    """Drop the command menu of one scope."""
    world.commands.pop(_scope(given), None)
    return True


def set_webhook(world: World, given: Parameters) -> bool:
    """Send updates elsewhere; nothing is ever delivered there, but polls are refused."""
    world.webhook = given.text("url")
    return True


def delete_webhook(world: World, given: Parameters) -> bool:
    """Let polls in again."""
    world.webhook = ""
    if given.flag("drop_pending_updates"):
        world.queue.pending.clear()
    return True


def get_webhook_info(world: World, _given: Parameters) -> Json:
    """Whether a webhook is set."""
    return {
        "url": world.webhook,
        "has_custom_certificate": False,
        "pending_update_count": len(world.queue.pending),
    }


def get_file(world: World, given: Parameters) -> Json:
    """Where a file can be fetched."""
    number = given.text("file_id")
    if not number:
        raise BadRequest("file_id not specified")
    if number not in world.files:
        raise BadRequest("wrong file_id or the file is temporarily unavailable")
    path, data = world.files[number]
    if len(data) > MAX_DOWNLOAD:
        raise BadRequest("file is too big")
    return {"file_id": number, "file_unique_id": f"U{number}", "file_size": len(data), "file_path": path}


def _send_file(method: str, world: World, given: Parameters) -> Json:
    return send_file(world, given, KINDS[method], reply=_reply, keep=_keep)


METHODS: Mapping[str, Method] = {
    "getMe": get_me,
    "sendMessage": send_message,
    "editMessageText": edit_message_text,
    "editMessageReplyMarkup": edit_message_reply_markup,
    "answerCallbackQuery": answer_callback_query,
    "deleteMessage": delete_message,
    "sendChatAction": send_chat_action,
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "deleteMyCommands": delete_my_commands,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
    "getFile": get_file,
    **{name: partial(_send_file, name) for name in KINDS},
    "setMessageReaction": set_message_reaction,
}


def _text(given: Parameters) -> str:
    """The text before cleaning. Markup is not read here: a client of these tests sends entities."""
    text = given.text("text")
    if not text:
        raise BadRequest("message text is empty")
    if given.text("parse_mode").lower() not in {"", "none"}:
        raise BadRequest("unsupported parse_mode")
    return text


def _reply(world: World, chat: Chat, given: Parameters) -> int | None:
    wanted = given.structure("reply_parameters", "reply parameters")
    if wanted is None:
        return None
    number = wanted.get("message_id") if isinstance(wanted, dict) else None
    if isinstance(number, bool) or not isinstance(number, int):
        raise BadRequest("can't parse reply parameters: Can't find field \"message_id\"")
    message = world.messages.get((chat.id, number))
    if message is None:
        if wanted.get("allow_sending_without_reply") is True:
            return None
        raise BadRequest("message to be replied not found")
    if "quote" in wanted and wanted["quote"] not in message.get("text", ""):
        raise BadRequest("QUOTE_TEXT_INVALID")
    return number


def _previews(given: Parameters) -> bool:
    options = given.structure("link_preview_options", "link preview options")
    if options is None:
        return not given.flag("disable_web_page_preview")
    if not isinstance(options, dict):
        raise BadRequest("can't parse link preview options: expected an Object")
    disabled = options.get("is_disabled", False)
    if not isinstance(disabled, bool):
        raise BadRequest('can\'t parse link preview options: Field "is_disabled" must be of type Boolean')
    return not disabled


def _markup(given: Parameters) -> Json | None:
    markup = given.structure("reply_markup", "reply keyboard markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise BadRequest("object expected as reply markup")
    for row in markup.get("inline_keyboard", ()):
        for button in row:
            data = str(button.get("callback_data", "x")).encode()
            if not button.get("text"):
                raise BadRequest('can\'t parse inline keyboard button: Field "text" must be non-empty')
            if not 1 <= len(data) <= MAX_CALLBACK_BYTES:
                raise BadRequest("BUTTON_DATA_INVALID")
    return markup


def _keep(world: World, chat: Chat, shown: Shown, markup: Json | None) -> Json:
    """Remember the bot's message and show it as the answer does."""
    before = world.messages.get((chat.id, shown.message_id))
    message: Json = {
        "message_id": shown.message_id,
        "from": world.me(),
        "chat": chat.json(),
        "date": before["date"] if before else world.date(),
        "text": shown.text,
    }
    if before is not None:
        message["edit_date"] = world.date()
    if shown.thread is not None:
        message |= {"message_thread_id": shown.thread, "is_topic_message": True}
    if shown.entities:
        message["entities"] = list(shown.entities)
    if markup is not None:
        message["reply_markup"] = markup
        world.buttons[chat.id, shown.message_id] = markup
    target = world.messages.get((chat.id, shown.reply_to or 0))
    if target is not None:
        message["reply_to_message"] = {k: v for k, v in target.items() if k != "reply_to_message"}
    world.messages[chat.id, shown.message_id] = message
    world.own[chat.id, shown.message_id] = shown
    world.changed.notify_all()
    return message


def _scope(given: Parameters) -> str:
    scope = given.structure("scope", "bot command scope")
    kind = "default" if scope is None else scope.get("type") if isinstance(scope, dict) else None
    if kind not in _SCOPES:
        raise BadRequest("can't parse BotCommandScope: Unsupported type specified")
    return str(kind)


def _command(raw: Any) -> Json:
    if not isinstance(raw, dict):
        raise BadRequest("can't parse BotCommand: expected an Object")
    for name in ("command", "description"):
        if not isinstance(raw.get(name), str):
            raise BadRequest(f"can't parse BotCommand: Can't find field \"{name}\"")
    if not _COMMAND.fullmatch(raw["command"].removeprefix("/")):
        raise BadRequest("BOT_COMMAND_INVALID")
    if not raw["description"].strip():
        raise BadRequest("BOT_COMMAND_DESCRIPTION_INVALID")
    if len(raw["description"]) > MAX_DESCRIPTION:
        raise BadRequest(f"command description length must not exceed {MAX_DESCRIPTION}")
    return {"command": raw["command"].removeprefix("/"), "description": raw["description"]}

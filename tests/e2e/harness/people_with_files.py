"""The owner in each chat of `live_chats` sends files as that messenger tells of them, and sees what comes back."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.servers.discord_api.people_side import CHAT
from fermix.testing.servers.slack_api import server as slack_api
from fermix.testing.servers.whatsapp_api import server as whatsapp_api
from tests.e2e.harness.homes import until
from tests.e2e.harness.live_chats import (
    DiscordChat,
    LiveChat,
    SignalChat,
    SlackChat,
    TelegramChat,
    WhatsAppChat,
)

OLGA = 1001


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsFile:
    """A file as its sender chose it.

    Attributes:
        shown_as: what Telegram and WhatsApp tell it apart by: `voice`, `audio`, `video_note`, `photo` or
            `document` (elsewhere there are only files and their types).
        declared: the size that the messenger tells; the true one where it is `None`.
    """

    content: bytes
    name: str
    mime_type: str
    shown_as: str
    declared: int | None = None

    @property
    def size(self) -> int:
        """What its message says of its size."""
        return len(self.content) if self.declared is None else self.declared


def send_file(chat: LiveChat, file: PersonsFile, caption: str = "") -> None:
    """The owner sends a file, with a caption where the messenger has room for one."""
    match chat:
        case TelegramChat():
            _by_telegram(chat, file, caption)
        case WhatsAppChat():
            _by_whatsapp(chat, file, caption)
        case SlackChat():
            _by_slack(chat, file, caption)
        case DiscordChat():
            hung = [(file.name, file.content, file.mime_type)]
            chat.server.user_writes(caption, chat=CHAT, files=hung)
        case SignalChat():
            _by_signal(chat, file, caption)
        case _:
            raise NotImplementedError(chat.name)


def _by_telegram(chat: TelegramChat, file: PersonsFile, caption: str) -> None:
    folder = f"{file.shown_as}s/{hashlib.sha256(file.content).hexdigest()[:12]}"
    number = chat.server.add_file(file.content, f"{folder}/{file.name}")
    about: dict[str, Any] = {"file_id": number, "file_unique_id": f"u{number}", "file_size": file.size}
    match file.shown_as:
        case "photo":
            told: object = [{**about, "width": 64, "height": 48}]
        case "voice" | "audio":
            told = {**about, "duration": 2, "mime_type": file.mime_type}
        case "video_note":
            told = {**about, "duration": 2, "length": 240}
        case _:
            told = {**about, "mime_type": file.mime_type, "file_name": file.name}
    captioned = {"caption": caption} if caption else {}
    chat.server.user_writes(OLGA, raw={"text": None, file.shown_as: told, **captioned})


def _by_whatsapp(chat: WhatsAppChat, file: PersonsFile, caption: str) -> None:
    kind = {"voice": "audio", "photo": "image"}.get(file.shown_as, file.shown_as)
    number = chat.server.world.store(file.content, file.mime_type)
    told: dict[str, Any] = {"id": number, "mime_type": file.mime_type}
    if kind == "audio":
        told["voice"] = file.shown_as == "voice"
    elif caption:
        told["caption"] = caption
    if kind == "document":
        told["filename"] = file.name
    content: dict[str, Any] = {kind: told}
    body = chat.server.notification(chat.server.message(kind=kind, **content))
    _call(chat.url, body, whatsapp_api.signed(body))


def _by_slack(chat: SlackChat, file: PersonsFile, caption: str) -> None:
    told = {**chat.server.file(file.content, file.name, file.mime_type), "size": file.size}
    body = chat.server.notification(chat.server.event(caption, subtype="file_share", files=[told]))
    _call(chat.url, body, slack_api.signed(body, at=SystemClock().now().timestamp()))


def _by_signal(chat: SignalChat, file: PersonsFile, caption: str) -> None:
    stored = f"F{len(list(chat.server.attachments.iterdir()))}.{file.name.rpartition('.')[2]}"
    (chat.server.attachments / stored).write_bytes(file.content)
    told = {
        "id": stored,
        "contentType": file.mime_type,
        "size": file.size,
        "filename": None if file.shown_as == "voice" else file.name,
    }
    chat.server.writes(caption or None, attachments=[told])


def _call(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    assert httpx.post(url, content=body, headers=dict(headers), timeout=10).status_code == 200


def answers(chat: LiveChat, count: int) -> list[str]:
    """The texts of the bot in the chat, captions included, once there are so many."""
    return until(
        lambda: texts if len(texts := [one for one in chat.shown() if one]) >= count else [],
        what=f"answer {count}",
    )


def files_shown(chat: LiveChat) -> Sequence[bytes]:
    """The files that the bot has sent, in order."""
    match chat:
        case TelegramChat():
            return [one.file.content for one in chat.server.sent() if one.file is not None]
        case WhatsAppChat():
            kept = chat.server.world.files
            return [kept[one.content["id"]].data for one in chat.server.sent(0) if one.kind != "text"]
        case SlackChat():
            return [one.file.data for one in chat.server.shown() if one.file is not None]
        case DiscordChat():
            return [content for one in chat.server.sent(0) for _name, content in one.files]
        case SignalChat():
            with chat.server.changed:
                return [content for one in chat.server.sent_as("send") for _name, content in one.files]
        case _:
            raise NotImplementedError(chat.name)


def reactions_shown(chat: LiveChat) -> Sequence[str]:
    """The emoji of the bot that stand on messages; Slack names them."""
    match chat:
        case TelegramChat():
            return [str(call.parameters["reaction"]) for call in chat.server.called("setMessageReaction")]
        case WhatsAppChat():
            with chat.server.world.changed:
                return list(chat.server.world.reactions.values())
        case SlackChat():
            with chat.server.world.changed:
                return [name for names in chat.server.world.reactions.values() for name in names]
        case DiscordChat():
            return [emoji for _chat, _message, emoji in chat.server.reactions]
        case SignalChat():
            with chat.server.changed:
                return [str(one.params["emoji"]) for one in chat.server.sent_as("sendReaction")]
        case _:
            raise NotImplementedError(chat.name)

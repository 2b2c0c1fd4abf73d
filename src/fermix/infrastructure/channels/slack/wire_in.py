"""What Slack tells in one call of the webhook, as the facts that the gateway takes: pure, and judging nothing.

Source: https://docs.slack.dev/reference/events/message and https://docs.slack.dev/interactivity/implementing-slash-commands.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fermix.domain.normalise import RawMessage
from fermix.infrastructure.channels.slack.words_in import Written, unescaped, written

_WRITTEN = frozenset({None, "file_share", "thread_broadcast", "me_message", "bot_message"})
"""Subtypes of messages that somebody wrote; all others only tell that something happened."""

_CHAT_KINDS = {"im": "direct", "mpim": "group", "group": "channel", "channel": "channel"}
_TS = re.compile(r"\d{1,10}\.\d{1,9}", re.ASCII)

_MOST_REFERENCES = 20

FILE_ID = re.compile(r"[A-Z0-9]{1,40}", re.ASCII)
"""What an id of a file looks like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Us:
    """Who we are in this workspace, as `auth.test` says.

    Attributes:
        bot: the id that our own messages are marked with; empty where none was told.
    """

    user: str
    bot: str = ""


class Unreadable(ValueError):
    """Something without the shape that is documented."""


def is_ts(value: object) -> bool:
    """Whether it is the id of a message: seconds, a dot, and what makes it unique."""
    return isinstance(value, str) and _TS.fullmatch(value) is not None


def read_event(payload: Mapping[str, Any], us: Us) -> RawMessage | None:
    """The message that an event tells; `None` when it tells none, or one of our own.

    A mention comes as two events, which become the same message with the same key.

    Raises:
        Unreadable: it tells one, in a shape that is none.
    """
    event = _dict(payload.get("event"))
    kind, subtype = event.get("type"), event.get("subtype")
    if kind not in {"message", "app_mention"}:
        return None
    if subtype == "message_changed":
        return _edit(payload, event, us)
    if subtype is not None and not isinstance(subtype, str):
        raise Unreadable("a subtype that is none")
    if subtype not in _WRITTEN or event.get("hidden") is True:
        return None
    return _message(payload, event, us)


def read_command(payload: Mapping[str, Any], us: Us, *, names: AbstractSet[str]) -> RawMessage:
    """A native slash command: `/fermix new` is what `/new` is elsewhere, and `/fermix hello` says hello.

    In a shared chat it names us by being our command.

    Args:
        payload: its fields.
        us: who we are.
        names: of the commands that are meant when they are the first word.

    Raises:
        Unreadable: it is none.
    """
    name, unique = _text(payload.get("command")), _text(payload.get("trigger_id"))
    user, chat = _text(payload.get("user_id")), _text(payload.get("channel_id"))
    if not all((name, unique, user, chat)):
        raise Unreadable("a command without its fields")
    said = unescaped(_text(payload.get("text"))).strip() or "help"
    first = said.split(maxsplit=1)[0].lower()
    return {
        "key": f"command:{unique}",
        "id": unique,
        "content": f"/{said}" if first in names else said,
        "raw_content": f"{name} {said}",
        "sender": _text(payload.get("user_name")) or user,
        "sender_id": user,
        "chat_id": chat,
        "chat_kind": _chat_kind(None, chat),
        "chat_title": _text(payload.get("channel_name")) or None,
        "guild": _text(payload.get("team_id")) or None,
        "reply_target": chat,
        "mentions": [{"id": us.user, "start": 0, "end": len(name), "is_us": True}],
        "mentions_detectable": True,
    }


def _message(payload: Mapping[str, Any], event: Mapping[str, Any], us: Us) -> RawMessage | None:
    ts, chat, user = event.get("ts"), event.get("channel"), event.get("user")
    bot = event.get("bot_id")
    if user == us.user or (bot and bot == us.bot):
        return None
    author = user if isinstance(user, str) and user else bot
    if not is_ts(ts) or not isinstance(chat, str) or not chat or not isinstance(author, str) or not author:
        raise Unreadable("a message without author, place or time")
    text = event.get("text")
    if text is not None and not isinstance(text, str):
        raise Unreadable("a text that is none")
    said = written(text or "", us=us.user)
    raw = _raw(payload, event, said, author=author)
    raw["sender_is_bot"] = bool(bot) or event.get("subtype") == "bot_message"
    raw["references"] = [*_replied_to(event, us), *_forwarded(event)]
    raw["attachments"] = list(_files(event.get("files")))
    edited = _dict(event.get("edited")).get("ts")
    if is_ts(edited):
        raw["edited_at"] = _instant(edited)
    return raw


def _raw(payload: Mapping[str, Any], event: Mapping[str, Any], said: Written, *, author: str) -> RawMessage:
    chat, ts = str(event["channel"]), str(event["ts"])
    thread = event.get("thread_ts")
    return {
        "key": f"{chat}:{ts}",
        "id": ts,
        "content": said.text,
        "raw_content": said.raw_text,
        "sender": _name(event) or author,
        "sender_id": author,
        "chat_id": chat,
        "chat_kind": _chat_kind(event.get("channel_type"), chat),
        "guild": _text(payload.get("team_id")) or None,
        "reply_target": chat,
        "thread_ts": thread if is_ts(thread) else None,
        "mentions": said.mentions,
        "mentions_detectable": True,
        "sent_at": _instant(ts),
    }


def _edit(payload: Mapping[str, Any], event: Mapping[str, Any], us: Us) -> RawMessage | None:
    """What a message reads by now; `None` when its words are the same, as when a preview was added to it."""
    now, before = _dict(event.get("message")), _dict(event.get("previous_message"))
    edited = _dict(now.get("edited")).get("ts")
    if not is_ts(edited) or now.get("text") == before.get("text"):
        return None
    place = {name: event[name] for name in ("channel", "channel_type") if name in event}
    return _message(payload, {**now, **place}, us)


def _replied_to(event: Mapping[str, Any], us: Us) -> Iterator[Mapping[str, object]]:
    root, author = event.get("thread_ts"), event.get("parent_user_id")
    if is_ts(root) and root != event.get("ts") and isinstance(author, str) and author:
        yield {"kind": "reply", "message": root, "author": author, "is_ours": author == us.user}


def _forwarded(event: Mapping[str, Any]) -> Iterator[Mapping[str, object]]:
    """Messages that were shared with this one; a preview of a link is none."""
    for shared in _list(event.get("attachments"))[:_MOST_REFERENCES]:
        one = _dict(shared)
        if one.get("is_share") is not True and one.get("is_msg_unfurl") is not True:
            continue
        text = _text(one.get("text")) or _text(one.get("fallback"))
        yield {
            "kind": "forward" if one.get("is_share") is True else "quote",
            "message": one.get("ts") if is_ts(one.get("ts")) else None,
            "author": _text(one.get("author_name")) or _text(one.get("author_id")) or None,
            "text": unescaped(text),
        }


def _files(files: object) -> Iterator[Mapping[str, object]]:
    for file in _list(files):
        one = _dict(file)
        reference, mime = one.get("id"), one.get("mimetype")
        if not isinstance(reference, str) or not FILE_ID.fullmatch(reference):
            continue
        gone = one.get("mode") in {"tombstone", "hidden_by_limit"}
        yield {
            "kind": "other" if gone else _kind(mime),
            "reference": reference,
            "mime_type": mime,
            "size_bytes": one.get("size"),
            "name": one.get("name"),
        }


def _kind(mime: object) -> str:
    family = mime.partition("/")[0].strip().lower() if isinstance(mime, str) else ""
    return family if family in {"image", "audio"} else "file"


def _chat_kind(told: object, chat: str) -> str:
    """What kind of chat it is; where it is not told, the first letter of its id says it."""
    if isinstance(told, str) and told in _CHAT_KINDS:
        return _CHAT_KINDS[told]
    return {"D": "direct", "G": "group"}.get(chat[:1], "channel")


def _name(event: Mapping[str, Any]) -> str:
    profile = _dict(event.get("user_profile"))
    return (
        _text(profile.get("display_name")) or _text(profile.get("real_name")) or _text(event.get("username"))
    )


def _instant(ts: object) -> datetime:
    return datetime.fromtimestamp(float(str(ts)), UTC)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []

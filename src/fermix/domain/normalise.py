"""From whatever an adapter hands over to one shape. What has the wrong type counts as missing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePath
from typing import TypeAlias, TypedDict, TypeVar
from urllib.parse import quote

from fermix.domain.ids import (
    AccountId,
    ChannelName,
    ChatId,
    PlatformMessageId,
    ThreadId,
    UserId,
    trimmed,
)
from fermix.domain.message import (
    Attachment,
    AttachmentKind,
    Chat,
    ChatKind,
    InboundMessage,
    Mention,
    Reference,
    ReferenceKind,
    Sender,
    Thread,
)

MAX_TEXT = 4 * 1024 * 1024
"""Characters of text kept of one message: what the largest request on the control socket can carry."""

MAX_ID = 1000
"""Characters of an id; a longer one is none. It is never cut, since two ids must not become one."""

MAX_NUMBER = 2**63 - 1
"""The largest number that a row and a line of JSON hold everywhere."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)

MAX_ITEMS = 100
"""Entries kept of each list (mentions, attachments, …)."""


class RawMessage(TypedDict, total=False):
    """What an adapter hands over: every fact it knows, in these names and plain types.

    Required are `id`, `content`, `sender`, `chat_id` and `reply_target`. Ids may be text or numbers. A
    `channel` is ignored: the gateway stamps it from the adapter's registration.
    """

    key: str
    id: str | int
    content: str
    raw_content: str
    sender: str
    sender_id: str | int | None
    sender_aliases: Sequence[str | int]
    sender_is_bot: bool
    sender_roles: Sequence[str | int]
    channel: str
    chat_id: str | int
    chat_kind: str
    chat_title: str | None
    chat_parent: str | int | None
    guild: str | int | None
    reply_target: str | int
    thread_ts: str | int | None
    thread_starter: str | None
    mentions: Sequence[Mapping[str, object]]
    mentions_detectable: bool
    command_bot: str | None
    references: Sequence[Mapping[str, object]]
    attachments: Sequence[Mapping[str, object]]
    album: str | None
    sent_at: datetime | None
    edited_at: datetime | None
    request_cwd: str | None
    request_model: str | None
    tap: bool
    metadata: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What the gateway knows of the adapter that hands a message over.

    Attributes:
        local: the control socket's own channel; only it may say which folder it was run in and which model
            it wants.
    """

    channel: ChannelName
    account: AccountId
    local: bool = False

    @property
    def origin(self) -> str:
        """The name space of its messages' keys, and of its cursor; as `route.origin_of` says of a message."""
        return f"{self.channel}:{self.account}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidMessage:
    """A required field is missing (or has the wrong type); the message is dropped with one error line."""

    field: str


Normalised: TypeAlias = InboundMessage | InvalidMessage


def clean(text: str) -> str:
    """Text that every store, log and wire can hold: lone surrogates become the replacement character."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _text(value: object) -> str | None:
    return clean(value[:MAX_TEXT]) if isinstance(value, str) else None


def _id(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and value.bit_length() > 3 * MAX_ID:
        return None
    text = trimmed(clean(str(value)))
    return text if len(text) <= MAX_ID and text and not text.isspace() else None


def _list(value: object) -> Sequence[object]:
    return value[:MAX_ITEMS] if isinstance(value, Sequence) and not isinstance(value, str | bytes) else ()


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]


def _ids(value: object) -> tuple[str, ...]:
    return tuple(i for item in _list(value) if (i := _id(item)) is not None)


_E = TypeVar("_E", bound=StrEnum)


def _member(kind: type[_E], value: object, default: _E) -> _E:
    return kind(value) if isinstance(value, str) and value in set(kind) else default


def _int(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) <= MAX_NUMBER else None


def _instant(value: object) -> datetime | None:
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _mention(raw: Mapping[str, object], text: str) -> Mention | None:
    who, start, end = _id(raw.get("id")), _int(raw.get("start")), _int(raw.get("end"))
    if who is None or start is None or end is None or not 0 <= start <= end <= len(text):
        return None
    return Mention(id=who, start=start, end=end, is_us=raw.get("is_us") is True)


def _reference(raw: Mapping[str, object]) -> Reference:
    message = _id(raw.get("message"))
    return Reference(
        kind=_member(ReferenceKind, raw.get("kind"), ReferenceKind.REPLY),
        message=None if message is None else PlatformMessageId(message),
        author=_text(raw.get("author")),
        text=_text(raw.get("text")),
        is_ours=raw.get("is_ours") is True,
    )


def _attachment(raw: Mapping[str, object]) -> Attachment | None:
    reference = _text(raw.get("reference"))
    if not reference or _ADDRESS.match(reference):
        return None
    size = _int(raw.get("size_bytes"))
    return Attachment(
        kind=_member(AttachmentKind, raw.get("kind"), AttachmentKind.OTHER),
        reference=reference,
        mime_type=_text(raw.get("mime_type")),
        size_bytes=size if size is not None and size >= 0 else None,
        name=_text(raw.get("name")),
    )


def _sender(raw: Mapping[str, object], name: str) -> Sender:
    metadata = raw.get("metadata")
    facts: Mapping[str, object] = metadata if isinstance(metadata, Mapping) else {}
    stable = _id(raw.get("sender_id")) or _id(facts.get("user_id")) or _id(facts.get("sender_id"))
    return Sender(
        name=name,
        id=None if stable is None else UserId(stable),
        aliases=tuple(UserId(alias) for alias in _ids(raw.get("sender_aliases"))),
        is_bot=raw.get("sender_is_bot") is True,
        roles=_ids(raw.get("sender_roles")),
    )


def _thread(raw: Mapping[str, object]) -> Thread | None:
    thread = _id(raw.get("thread_ts"))
    return None if thread is None else Thread(id=ThreadId(thread), starter=_text(raw.get("thread_starter")))


def _chat_kind(value: object) -> ChatKind:
    """A kind that we do not know is taken for a shared chat, where less is admitted and less is shown."""
    return ChatKind.DIRECT if value is None else _member(ChatKind, value, ChatKind.GROUP)


def _local_fact(raw: Mapping[str, object], name: str, registration: Registration) -> str | None:
    text = _text(raw.get(name)) if registration.local else None
    return text if text and not text.isspace() else None


def normalise(raw: Mapping[str, object] | RawMessage, registration: Registration) -> Normalised:
    """Put a message into its final shape.

    Required fields are looked at in the order id, content, sender, chat_id, reply_target; the channel, third
    from the end in the specification, is stamped here and cannot be missing. Text may be empty. Everything
    else that is missing or odd takes its neutral value; a broken mention or attachment is left out. An
    attachment that is only an address is left out too, since addresses expire.
    """
    required: dict[str, str] = {}
    for name in ("id", "content", "sender", "chat_id", "reply_target"):
        value = _text(raw.get(name)) if name in {"content", "sender"} else _id(raw.get(name))
        if value is None:
            return InvalidMessage(field=name)
        required[name] = value
    parent = _id(raw.get("chat_parent"))
    folder = _local_fact(raw, "request_cwd", registration)
    model = _local_fact(raw, "request_model", registration)
    raw_text = _text(raw.get("raw_content")) or required["content"]
    return InboundMessage(
        key=_id(raw.get("key")) or f"{quote(required['chat_id'], safe='')}:{required['id']}",
        id=PlatformMessageId(required["id"]),
        channel=registration.channel,
        account=registration.account,
        sender=_sender(raw, required["sender"]),
        chat=Chat(
            id=ChatId(required["chat_id"]),
            kind=_chat_kind(raw.get("chat_kind")),
            title=_text(raw.get("chat_title")),
            parent=None if parent is None else ChatId(parent),
            guild=_id(raw.get("guild")),
        ),
        reply_target=ChatId(required["reply_target"]),
        text=required["content"],
        raw_text=raw_text,
        thread=_thread(raw),
        mentions=tuple(
            m for item in _mappings(raw.get("mentions")) if (m := _mention(item, raw_text)) is not None
        ),
        mentions_detectable=raw.get("mentions_detectable") is True,
        command_bot=_text(raw.get("command_bot")),
        references=tuple(_reference(item) for item in _mappings(raw.get("references"))),
        attachments=tuple(
            a for item in _mappings(raw.get("attachments")) if (a := _attachment(item)) is not None
        ),
        album=_id(raw.get("album")),
        sent_at=_instant(raw.get("sent_at")),
        edited_at=_instant(raw.get("edited_at")),
        request_cwd=None if folder is None else PurePath(folder),
        request_model=None if model is None else model.strip(),
        tap=raw.get("tap") is True,
    )

"""One shape for everything people send, whatever it came through: facts only, no judgement."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath

from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, ThreadId, UserId


class ChatKind(StrEnum):
    """What sort of place a message was written in."""

    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"


class AttachmentKind(StrEnum):
    """What an attachment can become for the agent; `other` (sticker, poll, location) can become nothing."""

    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"
    OTHER = "other"


class ReferenceKind(StrEnum):
    """How a message points at another one."""

    REPLY = "reply"
    QUOTE = "quote"
    FORWARD = "forward"


class ThreadScope(StrEnum):
    """Whether a message stands in a thread of its chat or at the chat's root."""

    ROOT = "root"
    THREAD = "thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who wrote. `name` is untrusted text for display; only `id` and `aliases` identify.

    Attributes:
        id: the stable platform id; `None` when the platform named nobody.
        aliases: other stable ids of the same person (a phone number beside a UUID).
        roles: the sender's role ids in the guild, where the platform has them.
    """

    name: str
    id: UserId | None = None
    aliases: tuple[UserId, ...] = ()
    is_bot: bool = False
    roles: tuple[str, ...] = ()

    def ids(self) -> Iterator[UserId]:
        """All stable ids, the main one first."""
        if self.id is not None:
            yield self.id
        yield from self.aliases


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Where it was written. `title` is untrusted text."""

    id: ChatId
    kind: ChatKind = ChatKind.DIRECT
    title: str | None = None
    parent: ChatId | None = None
    guild: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread, topic or reply chain inside a chat."""

    id: ThreadId
    starter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Somebody named in `raw_text`, at code points `start` to `end` (exclusive)."""

    id: str
    start: int
    end: int
    is_us: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Another message this one replies to, quotes or forwards; its text is untrusted."""

    kind: ReferenceKind
    message: PlatformMessageId | None = None
    author: str | None = None
    text: str | None = None
    is_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that can be fetched later.

    Attributes:
        reference: opaque to all but its channel, and able to fetch again after a restart (a file id, never
            a bare address, which expires).
        name: the sender's file name, untrusted.
        size_bytes: as declared by the platform; `None` when it declared none.
    """

    kind: AttachmentKind
    reference: str
    mime_type: str | None = None
    size_bytes: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    """A message in its final shape.

    Attributes:
        key: unique per origin for good; what de-duplication compares. Made by the channel's pure code.
        id: the platform's message id, which a reply can point at.
        text: what was written, without our own mention.
        raw_text: what was written, whole.
        reply_target: the chat replies go to.
        command_bot: the bot a command was addressed to (`/help@name`), when one was named. Where the channel
            knows our own name it takes it off in `text`, so that a name that still stands there is another's.
        mentions_detectable: whether the platform can tell at all that we were mentioned.
        album: messages of one lane that share it belong to one turn.
        edited_at: set on an edit of an earlier message.
        request_cwd: the folder the local command line was run in; never set by a remote channel.
        request_model: the model the local command line asked for; never set by a remote channel.
        tap: a button was tapped, and `text` is what that stands for; `id` is the message the button is under.
    """

    key: str
    id: PlatformMessageId
    channel: ChannelName
    account: AccountId
    sender: Sender
    chat: Chat
    reply_target: ChatId
    text: str
    raw_text: str
    thread: Thread | None = None
    mentions: tuple[Mention, ...] = ()
    mentions_detectable: bool = False
    command_bot: str | None = None
    references: tuple[Reference, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    album: str | None = None
    sent_at: datetime | None = None
    edited_at: datetime | None = None
    request_cwd: PurePath | None = None
    request_model: str | None = None
    tap: bool = False

    @property
    def thread_scope(self) -> ThreadScope:
        """Derived, so that it cannot disagree with `thread`."""
        return ThreadScope.ROOT if self.thread is None else ThreadScope.THREAD

    @property
    def mentions_us(self) -> bool:
        """Whether we are among those named."""
        return any(mention.is_us for mention in self.mentions)

    @property
    def is_actionable(self) -> bool:
        """Whether there is text, or an attachment that can become text, a picture or a file."""
        return self.is_readable or any(
            attachment.kind is not AttachmentKind.OTHER for attachment in self.attachments
        )

    @property
    def is_readable(self) -> bool:
        """Whether there is text: written by the sender, or forwarded by them."""
        return bool(self.text.strip()) or any(
            reference.kind is ReferenceKind.FORWARD and reference.text and reference.text.strip()
            for reference in self.references
        )

    @property
    def is_for_another_bot(self) -> bool:
        """Whether it is a command for a bot whose name is not ours."""
        first_word = next(iter(self.text.split(maxsplit=1)), "")
        return self.command_bot is not None and first_word.lower().endswith(f"@{self.command_bot.lower()}")

    def digest(self) -> bytes:
        """A fingerprint of what was said: the same key with another digest is not a redelivery."""
        said = [
            self.text,
            self.request_cwd and str(self.request_cwd),
            self.request_model,
            [a.reference for a in self.attachments],
        ]
        return hashlib.blake2b(json.dumps(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()

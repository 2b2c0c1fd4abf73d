"""Whom a message in a shared chat is for. One pure stage, so that a richer group policy changes only it."""

from dataclasses import dataclass
from typing import TypeAlias

from fermix.domain.ids import ChannelName, ThreadId
from fermix.domain.message import ChatKind, InboundMessage

NEEDS_MENTION = frozenset({ChannelName("slack"), ChannelName("discord")})
"""Platforms of large rooms: in a shared chat only what names us is for us."""

ANSWERS_IN_THREAD = frozenset({ChannelName("slack")})
"""Platforms where an answer to a message at a room's root opens a thread under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForUs:
    """The message is for the agent; `thread` is where the conversation goes on, when not its own."""

    thread: ThreadId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOnly:
    """To be remembered, not answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotForUs:
    """Silently dropped; nothing is stored."""

    reason: str


ChatAdmission: TypeAlias = ForUs | ContextOnly | NotForUs


def admit_chat(message: InboundMessage) -> ChatAdmission:
    """Decide whom an authorised sender's message is for.

    Direct messages are always for us, and so is a tap on a button of ours. In shared chats of Slack and Discord
    a mention is needed, inside a thread as well; in those of the other channels every message of an allowed
    sender is for us. What other bots write never is.
    """
    if message.sender.is_bot:
        return NotForUs(reason="written by a bot")
    if message.tap or message.chat.kind is ChatKind.DIRECT or message.channel not in NEEDS_MENTION:
        return ForUs()
    if not message.mentions_us:
        return NotForUs(reason="does not mention us")
    if message.channel in ANSWERS_IN_THREAD and message.thread is None:
        return ForUs(thread=ThreadId(message.id))
    return ForUs()

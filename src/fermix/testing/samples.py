"""Short ways to say what arrives and how a turn ends, for tests of the ledger."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from fermix.application.ports.admissions import (
    Album,
    Command,
    CommandEffect,
    CommandWork,
    Context,
    Input,
    MediaToPrepare,
)
from fermix.application.ports.turns import ClaimedTurn, Settlement
from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.delivery import Part, TextPart
from fermix.domain.history import AssistantEntry, UserEntry
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId, UserId
from fermix.domain.message import Attachment, AttachmentKind, Chat, InboundMessage, Sender
from fermix.domain.route import route_of, target_of
from fermix.domain.turn import Outcome

REMOTE = ChannelName("telegram")
"""A channel of a platform, whose keys the platform makes."""

LOCAL = ChannelName("cli")
"""The local channel, whose keys its callers make."""

WINDOW = timedelta(seconds=3)
"""How long the albums made here wait for their next part."""


def written(
    key: str,
    text: str = "hello",
    *,
    chat: str = "7",
    channel: ChannelName = REMOTE,
    sender: str = "42",
    edited_at: datetime | None = None,
) -> InboundMessage:
    """A message as a channel hands it over."""
    return InboundMessage(
        key=key,
        id=PlatformMessageId(key),
        channel=channel,
        account=AccountId("bot"),
        sender=Sender(name="Ann", id=UserId(sender)),
        chat=Chat(id=ChatId(chat)),
        reply_target=ChatId(chat),
        text=text,
        raw_text=text,
        edited_at=edited_at,
    )


def asking(
    message: InboundMessage,
    *,
    trust: Trust = Trust.OPERATOR,
    awaited: bool = False,
    album: str | None = None,
    media: int = 0,
) -> Input:
    """The message as one that asks for a turn; `media` files on it must be prepared first."""
    files = tuple(Attachment(kind=AttachmentKind.FILE, reference=f"file-{i}") for i in range(media))
    return Input(
        message=replace(message, attachments=files) if files else message,
        route=route_of(message),
        target=target_of(message),
        trust=trust,
        scope=Scope(trust=trust),
        awaited=awaited,
        album=None if album is None else Album(key=album, debounce=WINDOW),
        media=tuple(
            MediaToPrepare(position=position, reference=file.reference) for position, file in enumerate(files)
        ),
    )


def named(effect: CommandEffect) -> Sequence[Part]:
    """A command's reply that names what it did."""
    return (TextPart(text=type(effect).__name__),)


def commanding(
    message: InboundMessage,
    work: CommandWork,
    *,
    reply: Callable[[CommandEffect], Sequence[Part]] = named,
) -> Command:
    """The message as a command of the owner."""
    return Command(
        message=message,
        route=route_of(message),
        target=target_of(message),
        trust=Trust.OPERATOR,
        work=work,
        reply=reply,
    )


def overheard(message: InboundMessage) -> Context:
    """The message as one that is only remembered."""
    return Context(message=message, route=route_of(message), trust=Trust.GUEST)


def answering(claimed: ClaimedTurn, *texts: str) -> Settlement:
    """The end of a turn that was answered in as many parts as there are texts."""
    return Settlement(
        turn=claimed.turn,
        generation=claimed.generation,
        outcome=Outcome.COMPLETED,
        target=claimed.messages[-1].target,
        entries=(
            *(UserEntry(text=each.message.text) for each in claimed.messages),
            *(AssistantEntry(text=text) for text in texts),
        ),
        parts=tuple(TextPart(text=text) for text in texts),
    )


def failing(claimed: ClaimedTurn, text: str = "sorry") -> Settlement:
    """The end of a turn that failed, with its payloads kept."""
    return replace(answering(claimed, text), outcome=Outcome.FAILED, keep_bodies=True)

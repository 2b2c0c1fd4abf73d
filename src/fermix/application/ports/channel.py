"""The channel port: a place people write to the agent from. Adapters talk; they judge nothing."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from fermix.application.ports.admissions import CursorMove
from fermix.domain.caps import NO_MEDIA, ChannelCaps, MediaCap
from fermix.domain.delivery import MediaKind, Part
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.normalise import RawMessage
from fermix.domain.reactions import NO_REACTIONS, Reactions
from fermix.domain.route import Target
from fermix.domain.splitting import TextUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFeatures:
    """What a channel can carry, as data; the numbers of ours are those of `fermix.domain.caps`.

    Attributes:
        max_text: longest text of one part, counted in `text_unit`; `None` for no limit. Longer replies are split.
        offers_again: the transport offers a message again that was not acknowledged.
        webhook: deliveries may arrive twice at the same time, and are answered while they wait.
        media_out: the kinds of files that `send` takes, each with its limits.
        media_in: the largest attachment that `FetchesMedia` fetches; `None` when it fetches none.
        reactions: what `send` takes as a reaction.
        nonce_kept_for: so long after a part the platform drops another one with the same nonce; `None` where it
            drops none, and a repeat has to say that it is one.
    """

    max_text: int | None = None
    text_unit: TextUnit = TextUnit.CODE_POINTS
    offers_again: bool = False
    webhook: bool = False
    media_out: Mapping[MediaKind, MediaCap] = field(default_factory=lambda: NO_MEDIA)
    media_in: int | None = None
    reactions: Reactions = NO_REACTIONS
    nonce_kept_for: timedelta | None = None

    @classmethod
    def within(
        cls, caps: ChannelCaps, *, offers_again: bool = False, webhook: bool = False
    ) -> "ChannelFeatures":
        """All that a channel with these caps can carry."""
        return cls(
            max_text=caps.max_text,
            text_unit=caps.text_unit,
            offers_again=offers_again,
            webhook=webhook,
            media_out=caps.media_out,
            media_in=caps.media_in,
            reactions=caps.reactions,
        )


class Verdict(StrEnum):
    """What became of one offered message. All but `full` and `unavailable` may be acknowledged.

    `full` is for transports that offer again: they stop asking for a while. To the others' senders, and when
    only their own conversation is full, an honest reply goes out and the verdict is `answered`.
    """

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    ANSWERED = "answered"
    DROPPED = "dropped"
    CONFLICT = "conflict"
    FULL = "full"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A message an adapter offers, and when it wants an awaited answer, that."""

    message: RawMessage
    awaited: bool = False


class Inbox(Protocol):
    """What a channel hands its messages to."""

    async def accept(
        self, offered: Sequence[Offered], *, cursor: CursorMove | None = None
    ) -> tuple[Verdict, ...]:
        """Take one list (one poll, one webhook) in one transaction; acknowledge only after it returned.

        Verdicts stand in the order of the list. `FULL` and `UNAVAILABLE` must not be acknowledged by a
        transport that offers again; the cursor has not moved when any item is unavailable. One with the scope
        `LISTENING` comes back as the `cursor` of `Channel.run`; its origin is filled in by whoever takes it.

        An empty list is taken too: it says that the platform answered and had nothing. A channel that had
        failed counts as listening again with the first list it hands over, not when it asks.
        """
        ...

    async def moved(self, *, old: ChatId, new: ChatId) -> Verdict:
        """Take note that the platform goes on with a chat under another id, in one transaction.

        Only what the platform itself tells in a field of its own may be handed over, never a text: nobody is
        asked whether its sender may talk. What came before it must be accepted before, what came after it after.

        Returns:
            `ACCEPTED`, `DROPPED` when that chat is unknown here, or `UNAVAILABLE`: it must be offered again.
        """
        ...

    def unreadable(self) -> None:
        """Count something that the platform handed over, that nobody could read, and that is passed over."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingPart:
    """One part to send.

    Attributes:
        nonce: the same for every try of this part; a platform that enforces it drops a double.
        repeated: an earlier try may have arrived; the body already says so.
    """

    target: Target
    body: Part
    nonce: str
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The platform took it.

    Attributes:
        moved_to: the chat it arrived in when the platform told that the target's chat has another id by now.
    """

    platform_id: PlatformMessageId | None = None
    moved_to: ChatId | None = None


class Channel(Protocol):
    """Implementations raise `ChannelError` and nothing else (but cancellation)."""

    @property
    def account(self) -> AccountId:
        """Our own identity there."""
        ...

    @property
    def features(self) -> ChannelFeatures:
        """What it can carry."""
        ...

    async def run(self, inbox: Inbox, *, cursor: str | None) -> None:
        """Listen until cancelled, from `cursor` on (as last committed, `None` at first).

        Acknowledges to the platform only after `inbox.accept` returned. Whoever runs it starts it again after
        a pause when it ends or raises, and shows the error's text as the state of the channel meanwhile.

        Raises:
            ChannelRateLimited: the platform asks to wait so long before it is asked again.
            ChannelRejected: the platform refuses us (a wrong credential); the text says what its owner can do.
            ChannelUnreachable: the platform cannot be heard; it will be tried again.
        """
        ...

    async def send(self, part: OutgoingPart) -> Delivered:
        """Deliver one part; never retries on its own.

        What its features do not name is refused before the platform hears of it (`must_carry`). A file is read
        from the store that the adapter was built with; an error of that store may pass through: then nothing
        was sent. A reaction takes the place of ours on that message, and has no id.

        Raises:
            ChannelRateLimited: not sent; wait as told.
            ChannelUnreachable: not sent; safe to try again.
            ChannelRejected: not sent and never will be; `ChannelTargetGone`: nor will anything else to that chat.
            ChannelOutcomeUnknown: perhaps sent; a repeat may double.
            BlobError: not sent, the file could not be read.
        """
        ...


class Typing(Protocol):
    """Shows in a chat that an answer is being written. An optional ability of channels."""

    async def show(self, target: Target) -> None:
        """Show it for some seconds; it goes by itself, or when a message arrives.

        Never retries on its own, and may be cancelled at any time.

        Raises:
            ChannelError: it could not be shown; nobody tries again during this turn.
        """
        ...


@runtime_checkable
class ShowsTyping(Protocol):
    """A channel that can show typing, or could if its platform let it. Those that never can lack the property."""

    @property
    def typing(self) -> Typing | None:
        """The ability; asked for once, before the channel runs."""
        ...


class Drafts(Protocol):
    """Messages that change while their text is written. An optional ability of channels.

    What a draft is called is this channel's affair; whoever uses it makes one call at a time for a draft.
    Nothing here retries on its own, and every call may be cancelled at any time. Errors are those of
    `Channel.send`: a wait that `open` or `edit` names is for drafts only and keeps no part from being sent.
    """

    async def open(self, target: Target, text: str) -> PlatformMessageId:
        """Send the first text of a draft; returns what the draft is called.

        Raises:
            ChannelError: by remedy, as for `Channel.send`.
        """
        ...

    async def edit(self, target: Target, draft: PlatformMessageId, text: str) -> None:
        """Replace the text of a draft; replacing it by the same text is no error.

        Raises:
            ChannelRejected: there is no such draft (any more), or the platform does not take this text.
            ChannelError: by remedy, as for `Channel.send`; a repeat of an edit never doubles anything.
        """
        ...

    async def seal(self, target: Target, draft: PlatformMessageId, body: Part) -> Delivered:
        """Make a part of a draft for good: as `edit`, but no pace of drafts holds it back.

        Raises:
            ChannelError: as `edit`.
        """
        ...

    async def discard(self, target: Target, draft: PlatformMessageId) -> None:
        """Remove a draft; that it is gone already is no error.

        Raises:
            ChannelError: it may still be there.
        """
        ...


@runtime_checkable
class ShowsDrafts(Protocol):
    """A channel that can show drafts, or could if its platform let it. Those that never can lack the property."""

    @property
    def drafts(self) -> Drafts | None:
        """The ability; asked for once, before the channel runs."""
        ...


class Buttons(Protocol):
    """Buttons under messages: `send` puts those of `TextPart.choices` there. An optional ability of channels.

    A tap is offered to the inbox as a message of the person who tapped, with `tap` set, a key of its own, and
    the text `/confirm TOKEN`. Who may answer is not for the channel to judge; a tap that comes back `DROPPED` is
    refused, and only the tapper is told so.
    """

    async def close(self, target: Target, token: str) -> None:
        """Take the buttons away under which `token` stands; that they are gone, or not known, is no error.

        Never retries on its own, and may be cancelled at any time.

        Raises:
            ChannelError: they may still be there; a tap on them changes nothing any more.
        """
        ...


@runtime_checkable
class ShowsButtons(Protocol):
    """A channel that can show buttons, or could if its platform let it. Those that never can lack the property."""

    @property
    def buttons(self) -> Buttons | None:
        """The ability; asked for once, before the channel runs."""
        ...


class MediaSource(Protocol):
    """Fetches what hangs on messages. An optional ability of channels."""

    def fetch(self, reference: str, *, limit: int) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The bytes of an attachment, piece by piece, while the block lasts.

        Leaving the block ends the transfer. The number of bytes is judged as they come, whatever was declared.
        Credentials go to the platform's own hosts only, and no address is followed elsewhere.

        Args:
            reference: `Attachment.reference`, also after a restart.
            limit: the most bytes that are taken; exactly so many still are.

        Raises:
            MediaTooLarge: there are more bytes than that.
            ChannelRateLimited: it can be had after the wait.
            ChannelUnreachable: it may be had later; also when the transfer broke.
            ChannelRejected: it cannot be had (any more).
        """
        ...


@runtime_checkable
class FetchesMedia(Protocol):
    """A channel that can fetch attachments, or could if its platform let it; others lack the property."""

    @property
    def media_source(self) -> MediaSource | None:
        """The ability; asked for once, before the channel runs."""
        ...


def media_sources_of(channels: Mapping[ChannelName, Channel]) -> Mapping[ChannelName, MediaSource]:
    """The channels that can fetch attachments, with their ability."""
    abilities = {
        name: channel.media_source for name, channel in channels.items() if isinstance(channel, FetchesMedia)
    }
    return {name: source for name, source in abilities.items() if source is not None}


def buttons_of(channels: Mapping[ChannelName, Channel]) -> Mapping[ChannelName, Buttons]:
    """The channels that can show buttons, with their ability."""
    abilities = {
        name: channel.buttons for name, channel in channels.items() if isinstance(channel, ShowsButtons)
    }
    return {name: buttons for name, buttons in abilities.items() if buttons is not None}


def drafts_of(channels: Mapping[ChannelName, Channel]) -> Mapping[ChannelName, Drafts]:
    """The channels that can show drafts, with their ability."""
    abilities = {
        name: channel.drafts for name, channel in channels.items() if isinstance(channel, ShowsDrafts)
    }
    return {name: drafts for name, drafts in abilities.items() if drafts is not None}


class ChannelError(Exception):
    """Base of all errors of channels; the text is for operators and holds no secret and no message text."""


class ChannelRateLimited(ChannelError):
    """The platform asks to wait; the part did not leave."""

    def __init__(self, text: str, *, retry_after: timedelta) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class ChannelUnreachable(ChannelError):
    """The part certainly did not leave; trying again is safe."""


class ChannelRejected(ChannelError):
    """The platform refused the part for good."""


class ChannelTargetGone(ChannelRejected):
    """The platform refused the part because its chat is none of ours any more: blocked, left, deleted."""


class MediaTooLarge(ChannelRejected):
    """An attachment has more bytes than were allowed."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(f"the attachment has more than {limit} bytes")
        self.limit = limit


class ChannelOutcomeUnknown(ChannelError):
    """Nobody knows whether the part arrived."""


SendError: TypeAlias = ChannelRateLimited | ChannelUnreachable | ChannelRejected | ChannelOutcomeUnknown

"""The channel port: a place people write to the agent from. Adapters talk; they judge nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from fermix.application.ports.admissions import CursorMove
from fermix.domain.delivery import Part
from fermix.domain.ids import AccountId, ChannelName, ChatId, PlatformMessageId
from fermix.domain.normalise import RawMessage
from fermix.domain.route import Target
from fermix.domain.splitting import TextUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFeatures:
    """What a channel can carry, as data.

    Attributes:
        max_text: longest text of one part, counted in `text_unit`; `None` for no limit. Longer replies are split.
        offers_again: the transport offers a message again that was not acknowledged.
        webhook: deliveries may arrive twice at the same time, and are answered while they wait.
        media: attachments can be fetched.
    """

    max_text: int | None = None
    text_unit: TextUnit = TextUnit.CODE_POINTS
    offers_again: bool = False
    webhook: bool = False
    media: bool = False


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
        transport that offers again; the cursor has not moved when any item is unavailable.

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

        Raises:
            ChannelRateLimited: not sent; wait as told.
            ChannelUnreachable: not sent; safe to try again.
            ChannelRejected: not sent and never will be.
            ChannelOutcomeUnknown: perhaps sent; a repeat may double.
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


class ChannelOutcomeUnknown(ChannelError):
    """Nobody knows whether the part arrived."""


SendError: TypeAlias = ChannelRateLimited | ChannelUnreachable | ChannelRejected | ChannelOutcomeUnknown

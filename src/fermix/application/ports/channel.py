"""The channel port: a place people write to the agent from. Adapters talk; they judge nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from fermix.application.ports.admissions import CursorMove
from fermix.domain.delivery import Part
from fermix.domain.ids import AccountId, PlatformMessageId
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
    """The platform took it."""

    platform_id: PlatformMessageId | None = None


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

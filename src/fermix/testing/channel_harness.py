"""What the suite of channels needs to know of an adapter: how to open it and direct its platform.

A harness is three small classes: `ChannelHarness` opens an adapter over a platform of its own, `OpenChannel` is
the two together, `FarSide` is the platform with its people, as a test directs it. The platform is a fake server
that keeps the limits and errors of the real one, so that the adapter under test is the whole adapter, its client
library included.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol, runtime_checkable

from fermix.application.ports.channel import Channel, OutgoingPart
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaKind, Part

WAIT = timedelta(seconds=7)
"""What a platform asks for that refuses a part as too fast."""


PRIVATE = "between you and me"
"""Words that no log and no error may hold."""


class Trouble(StrEnum):
    """What can become of one part that is sent.

    `TOO_FAST` refused with the wait `WAIT` · `UNREACHABLE` it cannot leave, nobody is there · `REFUSED` for
    good · `ANSWER_LOST` shown, and the line breaks before its sender hears so · `ANSWER_GARBLED` shown, and what
    its sender hears is no answer · `STALLED` no answer for as long as its sender waits, later parts get theirs.
    """

    TOO_FAST = "too_fast"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    ANSWER_LOST = "answer_lost"
    ANSWER_GARBLED = "answer_garbled"
    STALLED = "stalled"


class Fact(StrEnum):
    """What a message can tell beside its text, named by what is written.

    The field of `InboundMessage` that tells it is the one that `told_in` names.
    """

    SENDER = "a message"
    BOT = "a message of another bot"
    GROUP = "a message in a shared chat that has a title"
    THREAD = "a message in a thread or topic"
    REPLY = "a reply to a message of somebody else"
    OURS = "a reply to a message of ours"
    QUOTE = "a reply that quotes some words of another message"
    FORWARD = "a forwarded message"
    EDIT = "a message that was written before and reads otherwise now"
    ATTACHMENT = "a message with a file: its kind, type, size and name, and by what it can be fetched"
    ALBUM = "one of several pictures that belong together"
    MENTION = "a message that begins with our name"
    COMMAND = "a command with our name behind it"
    OTHERS_COMMAND = "a command with another bot's name behind it"
    TIME = "a message whose time of writing is known"

    @property
    def told_in(self) -> str:
        """A field of `InboundMessage`, or of one of its fields (`sender.id`)."""
        return _TOLD_IN[self]


_TOLD_IN = {
    Fact.SENDER: "sender.id",
    Fact.BOT: "sender.is_bot",
    Fact.GROUP: "chat.title",
    Fact.THREAD: "thread.id",
    Fact.REPLY: "references",
    Fact.OURS: "references",
    Fact.QUOTE: "references",
    Fact.FORWARD: "references",
    Fact.EDIT: "edited_at",
    Fact.ATTACHMENT: "attachments",
    Fact.ALBUM: "album",
    Fact.MENTION: "mentions",
    Fact.COMMAND: "text",
    Fact.OTHERS_COMMAND: "command_bot",
    Fact.TIME: "sent_at",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file as people get it.

    Attributes:
        kind: as what it is shown; `None` where the platform tells no kinds apart.
        name: `None` where the platform shows none with this kind.
    """

    content: bytes
    kind: MediaKind | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A part as people see it.

    Attributes:
        text: its words; of a file, the caption.
        id: the platform's id of the message; `None` where it has none.
        in_thread: it stands in the thread of `OpenChannel.part`.
        file: what hangs on it.
    """

    text: str
    id: str | None
    in_thread: bool
    file: ShownFile | None = None


class FarSide(Protocol):
    """A platform with its people. What it cannot do or show raises `CannotArrange`; a `Gap` declares it."""

    def user_writes(self, *texts: str) -> None:
        """Somebody writes these messages, in this order, in one direct chat."""
        ...

    def user_shows(self, fact: Fact) -> Mapping[str, object]:
        """Somebody writes a message with this fact; others may come before it.

        Returns:
            Fields of `InboundMessage`, or of its fields (`sender.id`), with the values they are to have: at
            least the one that `fact.told_in` names.
        """
        ...

    def hands_over_garbage(self) -> None:
        """The platform offers whatever it says it never does: wrong types, missing fields, unknown kinds.

        Where there is room for words, they are `PRIVATE`.
        """
        ...

    @property
    def acknowledged(self) -> int:
        """How many of the messages of `user_writes` will not be offered again."""
        ...

    async def acknowledges(self, count: int) -> None:
        """Wait until so many of those will not be offered again."""
        ...

    async def shown(self, count: int) -> Sequence[Shown]:
        """Wait until so many parts are shown; all that are, in order."""
        ...

    def user_sends_file(self, content: bytes) -> None:
        """Somebody sends a file of these bytes, as a document where there is a choice, without words."""
        ...

    async def reactions(self, count: int) -> Sequence[str]:
        """Wait until so many reactions of ours stand on messages; all that do, as the platform spells them."""
        ...

    @property
    def tries(self) -> int:
        """How often a part (a text, a file, a reaction) was handed to the platform, whatever became of it."""
        ...

    def trouble_next(self, trouble: Trouble) -> None:
        """What becomes of the part that is made (`OpenChannel.part`) and sent next."""
        ...

    async def stalled(self) -> None:
        """Wait until a sender waits for an answer that does not come."""
        ...

    def refuses_us(self) -> None:
        """The channel's credential is not good any more."""
        ...

    def goes_away(self) -> None:
        """Nobody is there: lines that are open break, new ones are refused."""
        ...

    def comes_back(self) -> None:
        """The platform is there again."""
        ...

    async def settles(self) -> int:
        """How many lines the channel holds open, once those that were given up are closed on both sides."""
        ...


@runtime_checkable
class SeesTyping(Protocol):
    """A far side whose people can tell that we are typing. Those whose people cannot lack the method."""

    async def typings(self, count: int) -> int:
        """Wait until typing was shown so often; how often it was."""
        ...


@runtime_checkable
class TapsButtons(Protocol):
    """A far side whose people see buttons under messages. Where the platform has none, these are lacking."""

    async def buttons(self, count: int) -> int:
        """Wait until so many stand under the messages that are shown, or for a while; how many do."""
        ...

    def user_taps(self, token: str) -> None:
        """Somebody taps the button of that token, which they saw under a message."""
        ...

    async def refusals(self, count: int) -> int:
        """Wait until so many taps were answered with a refusal that only the tapper sees; how many were."""
        ...


class OpenChannel(Protocol):
    """A channel with the platform behind it."""

    @property
    def channel(self) -> Channel:
        """The adapter under test."""
        ...

    @property
    def far_side(self) -> FarSide:
        """Its platform."""
        ...

    @property
    def credential(self) -> str:
        """What the adapter proves with who it is: it must never show. Empty when it has none."""
        ...

    def again(self) -> Channel:
        """The adapter as the next process opens it, over the same platform."""
        ...

    def part(self, text: str, *, in_thread: bool = False) -> OutgoingPart:
        """A part for whoever writes on the far side, in a thread there or not."""
        ...

    def part_of(self, body: Part) -> OutgoingPart:
        """A part with that body for whoever writes on the far side."""
        ...

    async def keep(self, content: bytes) -> BlobRef:
        """Put a file into the store that the adapter sends from."""
        ...


class ChannelHarness(Protocol):
    """One kind of adapter, opened anew for each check; some open it twice at the same time."""

    @property
    def patience(self) -> timedelta:
        """How long at most adapter and platform may take for anything."""
        ...

    def open(self) -> AbstractAsyncContextManager[OpenChannel]:
        """The adapter over a platform of its own."""
        ...

"""What an observer outside the ledger sees of one history, in order, and how it ended."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from fermix.domain.delivery import REPEAT_MARK
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import ChatId, Generation, PartId, TurnId
from fermix.domain.incoming_media import MediaResult
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome, TurnState


class Ask(StrEnum):
    """What a person wants with a message; a move is what the platform itself tells of a chat."""

    TURN = "turn"
    STOP = "stop"
    NEW = "new"
    DISCARD = "discard"
    RETRY = "retry"
    MOVE = "move"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A person wrote; `index` counts all messages of the platform, in the order it offers them.

    `address` is the chat's id at that time, `moved_to` the one that it has from then on.
    """

    index: int
    key: str
    chat: ChatId
    address: ChatId
    moved_to: ChatId | None = None
    sender: str = "42"
    ask: Ask = Ask.TURN
    album: str | None = None
    media: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An attempt to prepare an attachment was counted."""

    key: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An attachment has become something, which is about to be recorded."""

    key: str
    position: int
    result: MediaResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What became of an attachment is known to be recorded."""

    key: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A recording is about to turn out to be a command, under a key of its own, in the place of its turn."""

    turn: TurnId
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A turn was started in this process for the messages with these keys; it was handed these drafts.

    Attributes:
        media: what became of the attachments of each message, in their order.
    """

    turn: TurnId
    generation: Generation
    chat: ChatId
    keys: tuple[str, ...]
    media: tuple[tuple[MediaResult, ...], ...]
    drafts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A turn opened a draft on the platform, and the ledger has taken its id down."""

    turn: TurnId
    draft: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """A turn did something outside the ledger."""

    turn: TurnId
    generation: Generation
    repeat: Repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A turn runs no more in this process: settled, given back, or stopped."""

    turn: TurnId
    generation: Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The platform showed a part in a chat; `turn` is the one it answers, if it answers one."""

    part: PartId
    turn: TurnId | None
    ordinal: int
    chat: ChatId
    text: str

    @property
    def marked(self) -> bool:
        """Whether its reader was told that it may be a repeat."""
        return self.text.startswith(REPEAT_MARK)

    @property
    def words(self) -> str:
        """What it says, without the mark."""
        return self.text.removeprefix(REPEAT_MARK).lstrip("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """A part was tried for the last time and perhaps never shown."""

    part: PartId
    turn: TurnId | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """The owner is about to have lost or failed turns run again, knowing what that means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The ledger is about to hear that a chat has another id."""

    chat: ChatId


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The process died, or the whole machine lost its power."""

    power_cut: bool


Event: TypeAlias = (
    Said
    | Begun
    | Made
    | Prepared
    | Heard
    | Claimed
    | Drafted
    | Acted
    | Left
    | Shown
    | GivenUp
    | Retried
    | Moved
    | Died
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """Where a message stands at the end."""

    turn: TurnId | None
    state: TurnState | None
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One history from its first message to the end of the last.

    Attributes:
        fates: by key; a message the ledger does not know has none.
        remembered: by chat, all windows, oldest first.
        at_rest: everything came to its end; false when something waits for ever.
    """

    seed: int
    events: tuple[Event, ...]
    fates: Mapping[str, Fate]
    remembered: Mapping[ChatId, tuple[HistoryEntry, ...]]
    at_rest: bool = True

    @property
    def deaths(self) -> int:
        """How often a process died in it, power cuts included."""
        return sum(isinstance(event, Died) for event in self.events)

    @property
    def power_cuts(self) -> int:
        """How often the machine lost its power in it."""
        return sum(isinstance(event, Died) and event.power_cut for event in self.events)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a text in a history was made by: a claim of a turn, and which of how many texts of its kind it is."""

    kind: str
    turn: TurnId
    generation: Generation
    number: int = 0
    of: int = 1

    @property
    def text(self) -> str:
        """What `read` reads."""
        return f"{self.kind} {self.turn}.{self.generation}.{self.number}/{self.of}"

    @classmethod
    def read(cls, text: str) -> "Label | None":
        """The label a text is."""
        found = re.fullmatch(r"(answer|block|apology) (\d+)\.(\d+)\.(\d+)/(\d+)", text)
        if found is None:
            return None
        kind = found[1]
        turn, generation, number, of = (int(each) for each in found.groups()[1:])
        return cls(kind=kind, turn=TurnId(turn), generation=Generation(generation), number=number, of=of)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWords:
    """The reply to a stop, which names the turns it ended."""

    running: frozenset[TurnId]
    waiting: frozenset[TurnId]

    @property
    def text(self) -> str:
        """What `read` reads."""
        named = (" ".join(str(turn) for turn in sorted(turns)) for turns in (self.running, self.waiting))
        return "stopped {}; cancelled {}".format(*named)

    @classmethod
    def read(cls, text: str) -> "StopWords | None":
        """The turns a reply names, if it is one to a stop."""
        found = re.fullmatch(r"stopped ([\d ]*); cancelled ([\d ]*)", text)
        if found is None:
            return None
        running, waiting = (frozenset(TurnId(int(turn)) for turn in part.split()) for part in found.groups())
        return cls(running=running, waiting=waiting)

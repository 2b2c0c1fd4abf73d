"""The ledger's way in: what arrives becomes a committed row, or is refused, in one transaction per list."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeAlias

from fermix.application.ports.outbox import SendingPart
from fermix.domain.authorization import Trust
from fermix.domain.capability import Scope
from fermix.domain.delivery import Part
from fermix.domain.ids import LaneId, MessageRow, TurnId
from fermix.domain.incoming_media import MediaResult
from fermix.domain.lane import Placement
from fermix.domain.message import InboundMessage
from fermix.domain.route import ChatMove, Route, Target
from fermix.domain.turn import Outcome, TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class Album:
    """Messages of one lane with the same `key` join one turn; each restarts the wait of `debounce`.

    A part of an album that waits already is taken whatever else waits: an album comes whole or not at all. A
    lane with too many albums waiting (`ALBUM_MAX_OPEN`) takes a part of another one as a message of its own.
    """

    key: str
    debounce: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaToPrepare:
    """An attachment that must be fetched (and perhaps transcribed) before its turn can start.

    Attributes:
        prepared: what became of it before, for a message that is taken up again: it is ready at once.
    """

    position: int
    reference: str
    prepared: MediaResult | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A message that asks for a turn.

    Attributes:
        awaited: its asker waits on a socket; after a death it is interrupted, never replayed.
        scope: the capabilities its turn may see at most.
    """

    message: InboundMessage
    route: Route
    target: Target
    trust: Trust
    scope: Scope
    awaited: bool = False
    album: Album | None = None
    media: tuple[MediaToPrepare, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """What `/stop` ended, in all conversations.

    Attributes:
        running: turns that were started; their tasks must be cancelled by the caller.
        waiting: turns that had not begun.
        waiting_messages: how many messages those held.
    """

    running: tuple[TurnId, ...] = ()
    waiting: tuple[TurnId, ...] = ()
    waiting_messages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The command only answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOpened:
    """A new history window; `discarded` is the unknown turn that had paused the lane, when there was one."""

    discarded: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Everything was stopped."""

    report: StopReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A turn was discarded, or queued again (`retry`; a failed turn becomes a new one at its lane's end)."""

    turn: TurnId
    queued_as: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToResolve:
    """No turn of that id (or none at all) waits for its owner, or its text is no longer kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToBeDone:
    """The row stands; the caller does the work now and reports it with `finish_command`."""


CommandEffect: TypeAlias = Said | WindowOpened | Stopped | Resolved | NothingToResolve | ToBeDone
"""What a command did inside its transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Only reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWindow:
    """`/new`: history starts afresh; a paused lane's unknown turn is discarded, its followers run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopEverything:
    """`/stop`: one cut through all lanes, over every row before the command's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """`/discard [ID]`: end an unknown turn as interrupted; without an id the only one, or the oldest."""

    turn: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryTurn:
    """`/retry [ID]`: queue an unknown turn again, or a failed one as a new turn at its lane's end."""

    turn: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoOutside:
    """Work outside the ledger: row first, then the work, then `finish_command`."""


CommandWork: TypeAlias = Say | OpenWindow | StopEverything | Discard | RetryTurn | DoOutside

CommandReply: TypeAlias = Callable[[CommandEffect], Sequence[Part]]
"""Pure; called inside the transaction, so that the reply commits together with what it reports.

Not called for `DoOutside`, whose reply comes with `finish_command`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A message that runs a command ahead of the queue.

    Attributes:
        instead_of: the waiting turn of a message that turned out to be this command, once it was transcribed. It
            ends with the commit, before the work; when it does not wait any more, nothing is done and the answer
            is `Duplicate`.
    """

    message: InboundMessage
    route: Route
    target: Target
    trust: Trust
    work: CommandWork
    reply: CommandReply
    instead_of: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A message that is only remembered: no turn, no reply."""

    message: InboundMessage
    route: Route
    trust: Trust


Admission: TypeAlias = Input | Command | Context


LISTENING = "listening"
"""The scope of the cursor that `Channel.run` is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorMove:
    """How far a pull transport has read; committed with what was read."""

    origin: str
    scope: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Committed.

    Attributes:
        effect: set for commands.
        replies: how many reply parts were committed with it.
        parts: those of them to be sent now, by the caller (the first, unless an older one is open).
    """

    row: MessageRow
    lane: LaneId
    turn: TurnId | None = None
    effect: CommandEffect | None = None
    replies: int = 0
    parts: tuple[SendingPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The same key was committed before; its turn stands at `state`, or ended with `outcome`."""

    row: MessageRow
    turn: TurnId | None = None
    state: TurnState | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Full:
    """Too much waits already; nothing of this item was written."""

    placement: Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Same key, other content, on an origin whose keys its callers choose (the socket, a job)."""

    row: MessageRow


AdmitResult: TypeAlias = Accepted | Duplicate | Full | Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Amended:
    """What an edit did: replaced the text of a message still waiting, or left a note in the history."""

    replaced: bool


class Admissions(Protocol):
    """Raises `LedgerError` and nothing else. A call that was begun is finished even when it is cancelled."""

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        """Commit one list (one poll, one webhook, one request), durably.

        Items are worked on in order, so a `/stop` in the middle cuts between its neighbours. Results stand
        in the same order. A duplicate inside the list is found too. The cursor moves with the commit, unless
        an item met the total limit: that one must be offered again.
        """
        ...

    async def amend(self, edited: InboundMessage, *, key: str) -> Amended | None:
        """Apply an edit of the message with `key` on the edited message's origin; an older edit is ignored.

        Returns:
            `None` when that message is unknown, was a command, or already carries a newer edit.
        """
        ...

    async def move_chat(self, move: ChatMove) -> bool:
        """Let everything that led to a chat lead to its new id, durably; doing it again changes nothing.

        Routes of the old chat (each thread's) now start at the new one, with their history, their waiting and
        running turns and the pause of an unknown one. Parts and replies still to come go there too, also those
        that somebody commits later under the old id; they point at no message, since ids differ there.

        Where the new route has a conversation of its own already, that one's rows are appended to the older
        one's, in the order in which they were written: its first window goes on with the older one's current
        window. This waits, up to a later claim, while a turn of it is running or unknown.

        Returns:
            Whether anything is known of the old chat; if not, nothing is written.
        """
        ...

    async def finish_command(self, row: MessageRow, parts: Sequence[Part]) -> tuple[SendingPart, ...]:
        """Commit the reply of a `DoOutside` command and mark it done; returns what to send now."""
        ...

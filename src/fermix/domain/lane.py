"""Queue semantics of one conversation: who is next, what a new message may do, and how long albums wait."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from fermix.domain.ids import TurnId
from fermix.domain.message import InboundMessage
from fermix.domain.turn import ACTIVE, TurnState

ALBUM_MAX_PARTS = 10
"""Telegram shows at most ten items in an album; the tenth ends the wait."""

ALBUM_WAIT_AFTER_RESTART = timedelta(seconds=3)
"""An album that a restart interrupted waits at least so long for the parts its platform now offers again."""

ALBUM_MAX_OPEN = 200
"""So many albums of one conversation are waited for at a time; a part of another one goes alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """How much may wait, in messages."""

    per_conversation: int = 200
    total: int = 2000


class Placement(StrEnum):
    """What a lane does with a new message."""

    WAIT = "wait"
    FULL_CONVERSATION = "full_conversation"
    FULL_TOTAL = "full_total"


def place(*, waiting_here: int, waiting_in_all: int, limits: QueueLimits) -> Placement:
    """Decide about one new input: it waits its turn (first in, first out), unless too much waits already.

    A new message never interrupts or steers the running turn; such policies would answer here.
    """
    if waiting_in_all >= limits.total:
        return Placement.FULL_TOTAL
    if waiting_here >= limits.per_conversation:
        return Placement.FULL_CONVERSATION
    return Placement.WAIT


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTurn:
    """A turn as its lane sees it."""

    turn: TurnId
    state: TurnState
    media_waiting: bool = False


def claimable_head(turns: Sequence[LaneTurn]) -> TurnId | None:
    """The turn a lane may start now, or nothing.

    Only the oldest unsettled turn can start, and only when it is queued and its media is prepared: a head
    that is not ready holds its lane, so that nothing overtakes it.
    """
    unsettled = [turn for turn in turns if turn.state is not TurnState.SETTLED]
    if not unsettled or any(turn.state in ACTIVE for turn in unsettled):
        return None
    head = min(unsettled, key=lambda turn: turn.turn)
    if head.state is not TurnState.QUEUED or head.media_waiting:
        return None
    return head.turn


def collect_until(now: datetime, *, debounce: timedelta, parts: int) -> datetime:
    """When an album of `parts` parts stops waiting; each part restarts the wait, the last one ends it."""
    return now if parts >= ALBUM_MAX_PARTS else now + debounce


def may_open_album(*, open_here: int) -> bool:
    """Whether a conversation with so many collecting albums may begin another."""
    return open_here < ALBUM_MAX_OPEN


def album_order(messages: Sequence[InboundMessage | None]) -> tuple[int, ...]:
    """The order in which the messages of one turn are read, as places in what is given.

    The parts of an album are read as their platform numbers them, or else by its time: they may arrive in
    another order (uploaded side by side, offered again after a refusal). All else keeps the order of arrival.
    """
    arrived = range(len(messages))
    parts = [message for message in messages if message is not None and message.album is not None]
    if len(parts) < len(messages) or len({part.album for part in parts}) != 1:
        return tuple(arrived)
    if all(part.id.isascii() and part.id.isdigit() for part in parts):
        return tuple(sorted(arrived, key=lambda place: int(parts[place].id)))
    times = [part.sent_at for part in parts if part.sent_at is not None]
    return tuple(sorted(arrived, key=times.__getitem__) if len(times) == len(parts) else arrived)

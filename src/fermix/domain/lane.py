"""Queue semantics of one conversation: who is next, what a new message may do, and how long albums wait."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from fermix.domain.ids import TurnId
from fermix.domain.turn import ACTIVE, TurnState

ALBUM_MAX_PARTS = 10
"""Telegram shows at most ten items in an album; the tenth ends the wait."""


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

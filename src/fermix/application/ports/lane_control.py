"""What the owner sees of conversations and their queues from outside, and how a lost turn is settled there."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.queue_listing import QueueListing
from fermix.domain.ids import TurnId

MAX_SESSIONS = 1000
"""The most conversations one question is answered with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """The queue, and the time at which it stood so."""

    at: datetime
    listing: QueueListing


class ResolveWork(StrEnum):
    """What is to become of a turn; the words are those of the slash commands."""

    DISCARD = "discard"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRequest:
    """One `/discard` or `/retry` from outside a chat.

    Attributes:
        request: a UUID made by the client; the same one never takes effect twice.
        turn: which turn; the oldest lost one of all conversations when `None`.
    """

    request: str
    work: ResolveWork
    turn: TurnId | None = None


class ResolveEnd(StrEnum):
    """How it ended.

    `nothing`: there was no such turn. `taken_before`: a request of this id came before and may have taken effect.
    `unavailable`: nothing was done, and later it may be.
    """

    RESOLVED = "resolved"
    NOTHING = "nothing"
    TAKEN_BEFORE = "taken_before"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a `ResolveRequest` did.

    Attributes:
        text: one sentence for the person who asked.
        turn: the turn that was settled or queued again.
        queued_as: the turn that will run; another one when a failed turn runs again.
    """

    end: ResolveEnd
    text: str
    turn: TurnId | None = None
    queued_as: TurnId | None = None


class LaneControl(Protocol):
    """Conversations and their queues, over all channels. Raises `LedgerError` and nothing else."""

    async def sessions(self, *, limit: int) -> tuple[ConversationSummary, ...]:
        """Conversations, newest first; at most `limit`, and never more than `MAX_SESSIONS`."""
        ...

    async def queue(self) -> QueueReport:
        """What waits, runs, is paused, failed, or is still to be delivered."""
        ...

    async def resolve(self, request: ResolveRequest) -> Resolution:
        """Discard or retry a turn, by the same command that a chat would send. Only for those who may control."""
        ...

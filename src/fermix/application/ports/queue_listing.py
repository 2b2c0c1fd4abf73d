"""The queue line by line: turns that wait, run or are paused, turns that failed, and replies not yet delivered."""

from dataclasses import dataclass, field
from datetime import datetime

from fermix.domain.ids import LaneId, TurnId
from fermix.domain.route import Route
from fermix.domain.turn import TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTurn:
    """One turn as its owner sees it.

    Attributes:
        route: a route that leads to its conversation.
        left_behind: an owner that is gone had started it; the next owner that serves its channel puts it right.
        attempts: how often it was started, counted as recovery counts.
        messages: how many messages it answers.
        asked_at: when the first of them came.
        ended_at: when it settled; `None` while it has not.
        preview: what they say, as `fermix.domain.preview` cuts it; empty when that is no text.
    """

    turn: TurnId
    lane: LaneId
    route: Route
    state: TurnState
    left_behind: bool
    attempts: int
    messages: int
    asked_at: datetime
    ended_at: datetime | None
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReplies:
    """The parts of one target that are not known to be delivered.

    Attributes:
        target: the place, as the route of the same ids.
        oldest_at: when the oldest of them was committed.
        sending: whether the oldest is on its way.
        retry_at: the time until which the oldest waits after a try that failed.
    """

    target: Route
    parts: int
    oldest_at: datetime
    sending: bool
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneChat:
    """A chat of which its platform said that it is none of ours any more; what is for it is not sent.

    Attributes:
        chat: the chat, as a route without a thread.
        error: what the platform said, for operators.
        since: when it said so for the last time.
    """

    chat: Route
    error: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """How much of each kind did not fit into the listing."""

    turns: int = 0
    failed: int = 0
    targets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueListing:
    """The queue over all channels, from one moment.

    Attributes:
        turns: paused ones first, then running ones, then those that wait; each kind oldest first.
        failed: failed turns whose texts are kept, so that they can be run again; newest first.
        replies: by target, the one with the oldest part first.
        gone: chats that nothing is sent to, the one that went last first.
    """

    turns: tuple[ListedTurn, ...] = ()
    failed: tuple[ListedTurn, ...] = ()
    replies: tuple[OpenReplies, ...] = ()
    gone: tuple[GoneChat, ...] = ()
    left_out: LeftOut = field(default_factory=LeftOut)

"""The states a turn and an outgoing part go through, and which steps between them exist."""

from enum import StrEnum
from types import MappingProxyType


class MessageKind(StrEnum):
    """What an accepted message is for."""

    INPUT = "input"
    COMMAND = "command"
    CONTEXT = "context"


class TurnState(StrEnum):
    """Where a turn stands. `collecting` waits for the rest of an album; `unknown` waits for its owner."""

    COLLECTING = "collecting"
    QUEUED = "queued"
    STARTED = "started"
    UNKNOWN = "unknown"
    SETTLED = "settled"


class Outcome(StrEnum):
    """How a settled turn ended: answered; told; refused silently; removed before it began."""

    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


class PartState(StrEnum):
    """Where an outgoing part stands. `sending` may or may not have reached the platform."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


TURN_STEPS = MappingProxyType(
    {
        TurnState.COLLECTING: frozenset({TurnState.QUEUED, TurnState.SETTLED}),
        TurnState.QUEUED: frozenset({TurnState.STARTED, TurnState.SETTLED}),
        TurnState.STARTED: frozenset({TurnState.QUEUED, TurnState.UNKNOWN, TurnState.SETTLED}),
        TurnState.UNKNOWN: frozenset({TurnState.QUEUED, TurnState.SETTLED}),
        TurnState.SETTLED: frozenset[TurnState](),
    }
)
"""Started → queued is a replay or a release; unknown → queued is the owner's `/retry`."""

OUTCOMES_FROM = MappingProxyType(
    {
        TurnState.COLLECTING: frozenset({Outcome.CANCELLED, Outcome.INTERRUPTED}),
        TurnState.QUEUED: frozenset({Outcome.CANCELLED, Outcome.INTERRUPTED}),
        TurnState.STARTED: frozenset(
            {Outcome.COMPLETED, Outcome.FAILED, Outcome.INTERRUPTED, Outcome.REJECTED}
        ),
        TurnState.UNKNOWN: frozenset({Outcome.INTERRUPTED}),
        TurnState.SETTLED: frozenset[Outcome](),
    }
)
"""A queued turn is interrupted when the client that awaited it is gone; it is rejected only once claimed."""

PART_STEPS = MappingProxyType(
    {
        PartState.PENDING: frozenset({PartState.SENDING, PartState.WITHDRAWN}),
        PartState.SENDING: frozenset(
            {PartState.PENDING, PartState.SENT, PartState.FAILED, PartState.WITHDRAWN}
        ),
        PartState.SENT: frozenset[PartState](),
        PartState.FAILED: frozenset[PartState](),
        PartState.WITHDRAWN: frozenset[PartState](),
    }
)

ACTIVE = frozenset({TurnState.STARTED, TurnState.UNKNOWN})
"""A lane holds at most one turn in these states."""

WAITING = frozenset({TurnState.COLLECTING, TurnState.QUEUED})


def may_settle(state: TurnState, outcome: Outcome) -> bool:
    """Whether a turn in `state` may end with `outcome`."""
    return outcome in OUTCOMES_FROM[state]

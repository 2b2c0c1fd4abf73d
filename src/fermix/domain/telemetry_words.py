"""The words that telemetry events are told in: closed lists, so that no event can carry anybody's text."""

from enum import StrEnum


class Direction(StrEnum):
    """Which way a message went."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"


class MessageEnd(StrEnum):
    """What became of a message."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    FULL = "full"
    UNAVAILABLE = "unavailable"
    INVALID = "invalid"
    UNAUTHORIZED = "unauthorized"
    NOT_FOR_US = "not_for_us"
    EMPTY = "empty"
    EDIT = "edit"
    SENT = "sent"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


class Decision(StrEnum):
    """What was decided about a sender."""

    OK = "ok"
    UNAUTHORIZED = "unauthorized"
    UNKNOWN_CHANNEL = "unknown_channel"


class Unavailability(StrEnum):
    """Why a message could not be taken."""

    RESTARTING = "restarting"
    LEDGER = "ledger"


class ReplyType(StrEnum):
    """What was sent."""

    TEXT = "text"
    MEDIA = "media"
    REACTION = "reaction"
    NOTICE = "notice"


class SendStatus(StrEnum):
    """How one attempt to send ended."""

    SENT = "sent"
    RATE_LIMITED = "rate_limited"
    UNREACHABLE = "unreachable"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


class Phase(StrEnum):
    """What was done to the part of an answer that people see before it is finished."""

    OPEN = "open"
    EDIT = "edit"
    BLOCK = "block"
    SEAL = "seal"
    DISCARD = "discard"


class TurnEnd(StrEnum):
    """How the run of a turn ended; `cancelled` when it was stopped or given back to the queue."""

    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    CRASHED = "crashed"


class ToolEnd(StrEnum):
    """What became of a call that a model asked for."""

    OK = "ok"
    FAILED = "failed"
    NOT_RUN = "not_run"


class CallStatus(StrEnum):
    """How a request to a service ended."""

    OK = "ok"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Limit(StrEnum):
    """A time limit of ours."""

    TURN = "turn"
    SEND = "send"

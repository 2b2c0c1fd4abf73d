"""What streaming tells those who measure it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from fermix.domain.ids import ChannelName, TurnId


class StreamPhase(StrEnum):
    """What was done to what people see."""

    OPEN = "open"
    EDIT = "edit"
    BLOCK = "block"
    SEAL = "seal"
    DISCARD = "discard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """One phase of one turn's stream; it holds nothing of the text.

    Attributes:
        succeeded: whether the platform took it; of a seal, that the reply took the draft's place.
        took: how long the call took; of an opening, the time from the turn's start to the draft.
        index: how many writes or blocks there were, this one included; at the end, how many in all.
        dropped: at a draft's end, how many states of the text newer ones took the place of.
    """

    phase: StreamPhase
    turn: TurnId
    channel: ChannelName
    succeeded: bool
    took: timedelta
    index: int
    dropped: int = 0


StreamObserver = Callable[[Streamed], None]
"""Told each phase, at once; must not block."""


def nobody_measures(_streamed: Streamed) -> None:
    """For whoever keeps no account of it."""

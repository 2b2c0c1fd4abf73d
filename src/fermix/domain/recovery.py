"""What becomes of a turn whose owner died while it ran: the six rules, first match wins."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fermix.domain.authorization import Trust

MAX_ATTEMPTS = 3
"""Claims of one turn before it counts as what kills the process."""


class Repeat(StrEnum):
    """What running an effect a second time would mean.

    `ADOPT`: a draft, which the next run goes on with. `TEXT`: the turn's own words, which people have read.
    `HARMLESS`: nothing, since it puts again what is there already (a reaction takes the place of ours); no row
    is kept of it, only of the part that it sends. `UNSAFE`: anything else.
    """

    ADOPT = "adopt"
    TEXT = "text"
    HARMLESS = "harmless"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEffect:
    """An effect in the journal; `own_reply_part` when it only sent a part to the turn's own asker."""

    repeat: Repeat
    own_reply_part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptedTurn:
    """A started turn as its next owner finds it."""

    awaited: bool
    trust: Trust
    attempts: int
    effects: Sequence[RecordedEffect] = ()


class Recovery(StrEnum):
    """What the next owner does."""

    INTERRUPT_AWAITED = "interrupt_awaited"
    PAUSE_AS_UNKNOWN = "pause_as_unknown"
    INTERRUPT_CUT_OFF = "interrupt_cut_off"
    ASK_GUEST_AGAIN = "ask_guest_again"
    FAIL = "fail"
    REPLAY = "replay"


def recover(turn: InterruptedTurn) -> Recovery:
    """Decide what becomes of an interrupted turn.

    In order: its asker waited on a socket that is gone (never replayed) · it did something a repeat would do
    twice (its owner decides; a guest's turn that only sent its own reply parts is ended and the guest asked
    to send it again) · it already showed text of its own (cut off there) · it was tried three times (a
    message that kills the process must not kill it for ever) · else it runs again.
    """
    if turn.awaited:
        return Recovery.INTERRUPT_AWAITED
    unsafe = [effect for effect in turn.effects if effect.repeat is Repeat.UNSAFE]
    if unsafe:
        if turn.trust is Trust.GUEST and all(effect.own_reply_part for effect in unsafe):
            return Recovery.ASK_GUEST_AGAIN
        return Recovery.PAUSE_AS_UNKNOWN
    if any(effect.repeat is Repeat.TEXT for effect in turn.effects):
        return Recovery.INTERRUPT_CUT_OFF
    if turn.attempts >= MAX_ATTEMPTS:
        return Recovery.FAIL
    return Recovery.REPLAY

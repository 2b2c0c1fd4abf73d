"""What telemetry is told of the messages that came in: pure, from what the stages and the commit decided."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from fermix.application.gateway.stages import (
    Answered,
    Candidate,
    Denied,
    Edit,
    Ended,
    Ending,
    Invalid,
    Passed,
    Step,
    Twin,
)
from fermix.application.ports.channel import Verdict
from fermix.domain.ids import TurnId
from fermix.domain.telemetry import (
    AgentUnavailable,
    ChannelMessage,
    CommandDispatch,
    CommandReceived,
    CommandUnauthorized,
    DispatcherNormalize,
    Event,
    IngressAuthorize,
)
from fermix.domain.telemetry_fields import name_of, session_of
from fermix.domain.telemetry_words import Decision, Direction, MessageEnd, Unavailability

_ENDS = {
    Verdict.ACCEPTED: MessageEnd.ACCEPTED,
    Verdict.DUPLICATE: MessageEnd.DUPLICATE,
    Verdict.CONFLICT: MessageEnd.CONFLICT,
    Verdict.FULL: MessageEnd.FULL,
    Verdict.ANSWERED: MessageEnd.FULL,
    Verdict.UNAVAILABLE: MessageEnd.UNAVAILABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """What became of one message.

    Attributes:
        took: seconds from the arrival of its list to the commit.
        closing: whether the gateway took nothing more.
    """

    step: Step
    verdict: Verdict
    turn: TurnId | None
    took: float
    closing: bool


def events_of(concluded: Concluded) -> Iterator[Event]:
    """The events of one message, in the order in which things happened."""
    step = concluded.step
    candidate = step.candidate if isinstance(step, Ended) else step
    yield from _before_the_commit(step)
    channel = candidate.door.registration.channel
    if concluded.verdict is Verdict.UNAVAILABLE:
        why = Unavailability.RESTARTING if concluded.closing else Unavailability.LEDGER
        yield AgentUnavailable(channel=channel, reason=why)
    if concluded.verdict is Verdict.ACCEPTED:
        yield from _command(candidate, concluded.took)
    yield ChannelMessage(
        channel=channel,
        direction=Direction.INBOUND,
        result=_end(step, concluded.verdict),
        session_id=None if concluded.turn is None else session_of(concluded.turn),
    )


def _before_the_commit(step: Step) -> Iterator[Event]:
    candidate = step.candidate if isinstance(step, Ended) else step
    channel = candidate.door.registration.channel
    match step:
        case Ended(ending=Invalid(field=field)):
            yield DispatcherNormalize(channel=channel, field=name_of(field))
        case Ended(ending=Denied(denial=denial)):
            yield IngressAuthorize(channel=channel, result=Decision(denial.kind.value))
        case _ if candidate.authorization is not None:
            yield IngressAuthorize(channel=channel, result=Decision.OK, trust=candidate.authorization.trust)
        case _:
            return


def _command(candidate: Candidate, took: float) -> Iterator[Event]:
    call = candidate.command
    if call is None:
        return
    channel, command = candidate.door.registration.channel, name_of(call.name)
    yield CommandReceived(channel=channel, command=command)
    if call.refused:
        yield CommandUnauthorized(channel=channel, command=command)
    else:
        yield CommandDispatch(channel=channel, command=command, duration=took)


def _end(step: Step, verdict: Verdict) -> MessageEnd:
    if isinstance(step, Candidate) or verdict is Verdict.UNAVAILABLE:
        return _ENDS[verdict]
    return _without_commit(step.ending)


def _without_commit(ending: Ending) -> MessageEnd:
    match ending:
        case Invalid():
            return MessageEnd.INVALID
        case Denied():
            return MessageEnd.UNAUTHORIZED
        case Passed():
            return MessageEnd.NOT_FOR_US
        case Answered():
            return MessageEnd.EMPTY
        case Twin():
            return MessageEnd.DUPLICATE
        case Edit():
            return MessageEnd.EDIT
        case _:
            assert_never(ending)

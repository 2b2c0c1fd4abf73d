"""What telemetry is told of a turn's requests to its model, and of the calls that the model asks for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fermix.application.agent.toolbox import Toolbox
from fermix.application.ports.clock import Clock
from fermix.application.ports.model import ModelError, ModelProfile, ToolCall
from fermix.application.ports.telemetry import Telemetry
from fermix.application.ports.tools import ToolResult
from fermix.domain.failure import FailureKind
from fermix.domain.ids import TurnId
from fermix.domain.telemetry import ProviderCall, ToolExec
from fermix.domain.telemetry_fields import name_of, session_of
from fermix.domain.telemetry_words import CallStatus, ToolEnd

UNKNOWN_TOOL = "unknown"
"""A name that no tool has is the model's own text, and is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Who is told, by which clock, and about which turn."""

    telemetry: Telemetry
    clock: Clock
    turn: TurnId


@dataclass(slots=True)
class Outcomes:
    """What became of the calls of one answer, by their places; of those that were run, the seconds they took."""

    results: dict[int, ToolResult] = field(default_factory=dict[int, ToolResult])
    took: dict[int, float] = field(default_factory=dict[int, float])


@contextmanager
def measured_request(measuring: Measuring, profile: ModelProfile, step: int) -> Iterator[None]:
    """Measure one request to a model; what it raises passes through."""
    began = measuring.clock.monotonic()
    status, failure = CallStatus.CANCELLED, None
    try:
        yield
        status = CallStatus.OK
    except ModelError as exc:
        status, failure = CallStatus.FAILED, exc.kind
        raise
    except Exception:
        status, failure = CallStatus.FAILED, FailureKind.INTERNAL
        raise
    finally:
        measuring.telemetry.emit(
            ProviderCall(
                provider=name_of(profile.provider),
                model=name_of(profile.model),
                status=status,
                failure=failure,
                step=step,
                duration=measuring.clock.monotonic() - began,
                session_id=session_of(measuring.turn),
            )
        )


@contextmanager
def measured_calls(measuring: Measuring, toolbox: Toolbox, calls: Sequence[ToolCall]) -> Iterator[Outcomes]:
    """Tell of each call of one answer exactly once, however the block ends; the block notes what comes of them."""
    outcomes = Outcomes()
    try:
        yield outcomes
    finally:
        for place, call in enumerate(calls):
            known = toolbox.knows(call.name)
            measuring.telemetry.emit(
                ToolExec(
                    tool=name_of(call.name if known else UNKNOWN_TOOL),
                    status=_end(outcomes, place),
                    duration=outcomes.took.get(place, 0.0),
                    session_id=session_of(measuring.turn),
                )
            )


def _end(outcomes: Outcomes, place: int) -> ToolEnd:
    result = outcomes.results.get(place)
    if place not in outcomes.took or result is None:
        return ToolEnd.NOT_RUN
    return ToolEnd.FAILED if result.failed else ToolEnd.OK

"""What telemetry is told of a turn, from its claim to its commit, and of what people see of it meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fermix.application.ports.clock import Clock
from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.telemetry import Telemetry, about_turn
from fermix.application.ports.turns import ClaimedTurn
from fermix.application.turns.phases import Streamed, StreamObserver
from fermix.application.turns.settle import Ending
from fermix.domain.failure import FailureKind
from fermix.domain.ids import TurnId
from fermix.domain.telemetry import (
    AgentHistory,
    ChannelStream,
    EmptyCompletion,
    RequestComplete,
    RequestStart,
    TimeoutExpired,
    TurnSettle,
)
from fermix.domain.telemetry_fields import session_of
from fermix.domain.telemetry_words import Limit, Phase, TurnEnd
from fermix.domain.turn import Outcome

_ENDS = {
    Outcome.COMPLETED: TurnEnd.COMPLETED,
    Outcome.FAILED: TurnEnd.FAILED,
    Outcome.INTERRUPTED: TurnEnd.CANCELLED,
    Outcome.REJECTED: TurnEnd.REJECTED,
    Outcome.CANCELLED: TurnEnd.CANCELLED,
}


@dataclass(slots=True, kw_only=True)
class TurnMeter:
    """Measures the stages of one run of a turn."""

    telemetry: Telemetry
    clock: Clock
    claim: ClaimedTurn
    _ending: Ending | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the whole run; every line logged meanwhile names the turn."""
        with about_turn(self.claim.turn):
            began, session = self.clock.monotonic(), session_of(self.claim.turn)
            channel = self.claim.messages[-1].target.channel
            self.telemetry.emit(
                RequestStart(
                    channel=channel,
                    messages=len(self.claim.messages),
                    attempt=self.claim.attempts,
                    session_id=session,
                )
            )
            status = TurnEnd.CANCELLED
            try:
                yield
                if self._ending is not None:
                    status = _ENDS[self._ending.outcome]
            except StaleTurn:
                raise
            except Exception:
                status = TurnEnd.CRASHED
                raise
            finally:
                self.telemetry.emit(
                    RequestComplete(
                        channel=channel,
                        status=status,
                        failure=self._failure(),
                        duration=self.clock.monotonic() - began,
                        session_id=session,
                    )
                )

    @contextmanager
    def settling(self, ending: Ending) -> Iterator[None]:
        """Measure the commit of an ending; a commit that fails is told by the run's end alone."""
        began, session = self.clock.monotonic(), session_of(self.claim.turn)
        channel = self.claim.messages[-1].target.channel
        yield
        self._ending = ending
        self.telemetry.emit(
            TurnSettle(
                channel=channel,
                outcome=ending.outcome,
                duration=self.clock.monotonic() - began,
                session_id=session,
            )
        )
        if self._failure() is FailureKind.EMPTY_ANSWER:
            self.telemetry.emit(EmptyCompletion(channel=channel, session_id=session))

    def _failure(self) -> FailureKind | None:
        ending = self._ending
        return None if ending is None or ending.failure is None else ending.failure.kind


def history_read(telemetry: Telemetry, turn: TurnId, *, entries: int, took: float) -> None:
    """Tell that the history was read for a turn, in how many seconds."""
    telemetry.emit(AgentHistory(entries=entries, duration=took, session_id=session_of(turn)))


def turn_timed_out(telemetry: Telemetry, turn: TurnId, *, limit: float) -> None:
    """Tell that the time of a turn, in seconds, was over."""
    telemetry.emit(TimeoutExpired(kind=Limit.TURN, limit=limit, session_id=session_of(turn)))


def stream_observer(telemetry: Telemetry) -> StreamObserver:
    """Hands every phase of streaming to telemetry."""

    def observe(streamed: Streamed) -> None:
        telemetry.emit(
            ChannelStream(
                channel=streamed.channel,
                phase=Phase(streamed.phase.value),
                succeeded=streamed.succeeded,
                duration=streamed.took.total_seconds(),
                index=streamed.index,
                dropped=streamed.dropped,
                session_id=session_of(streamed.turn),
            )
        )

    return observe

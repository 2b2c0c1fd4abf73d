"""The telemetry of one home: each event is counted for the metrics and handed to the traces."""

from typing import Final

from fermix.application.ports.clock import Clock
from fermix.domain.telemetry import EVENTS, Event, facts_of
from fermix.infrastructure.telemetry.totals import Totals
from fermix.infrastructure.telemetry.traces import TraceWriter


class Reporter:
    """The `Telemetry` port.

    Attributes:
        totals: everything counted so far.
        traces: where the events go.
    """

    def __init__(self, traces: TraceWriter, clock: Clock) -> None:
        self.totals: Final = Totals(EVENTS.values())
        self.traces: Final = traces
        self._clock = clock

    def emit(self, event: Event) -> None:
        """See `Telemetry.emit`."""
        kind, values = facts_of(event)
        self.totals.add(kind, values)
        self.traces.put(self._clock.now(), kind, values)

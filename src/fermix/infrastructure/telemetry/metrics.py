"""What a monitor reads: the events added up, and how the gateway stands at this moment."""

import anyio.to_thread

from fermix.application.ports.control import Control, Status
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.ports.telemetry import Exposition
from fermix.infrastructure.telemetry.reporter import Reporter
from fermix.infrastructure.telemetry.standing import Standing


class Metrics:
    """Asked each time a monitor comes by; until then nothing is loaded and nothing computed."""

    def __init__(self, *, reporter: Reporter, control: Control) -> None:
        self._reporter = reporter
        self._control = control

    async def render(self) -> Exposition:
        """The metrics now, in Prometheus' text format."""
        standing = Standing(
            version=self._control.identify().version,
            measured=self._reporter.totals.measured(),
            health=await self._control.health(),
            status=await self._status(),
            dropped=self._reporter.traces.dropped,
            unwritten=self._reporter.traces.unwritten,
        )
        return await anyio.to_thread.run_sync(_exposition, standing)

    async def _status(self) -> Status | None:
        try:
            return await self._control.status()
        except LedgerError:
            return None


def _exposition(standing: Standing) -> Exposition:
    # The library takes some 40 ms to import: nobody waits for it who asks for no metrics.
    from fermix.infrastructure.telemetry.prometheus import expose  # noqa: PLC0415

    return expose(standing)

"""What metrics are made from."""

from dataclasses import dataclass

from fermix.application.ports.control import Health, Status
from fermix.infrastructure.telemetry.totals import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Everything shown at one moment.

    Attributes:
        status: `None` while the ledger cannot be read.
        dropped: trace lines lost because too many waited.
        unwritten: trace lines lost because they could not be written.
    """

    version: str
    measured: tuple[Measured, ...]
    health: Health
    status: Status | None
    dropped: int
    unwritten: int

"""Time, ids and waiting come in through ports, so that rules about them can be tested without them."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time, and waiting for a time."""

    def now(self) -> datetime:
        """The current instant, timezone-aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""
        ...

    async def sleep_until(self, instant: datetime) -> None:
        """Return once `now() >= instant`."""
        ...


class Ids(Protocol):
    """Fresh identifiers."""

    def new(self) -> str:
        """A UUID as text; never a counter, so that it stays unique across restarts and machines."""
        ...

"""How much one call may look at before it has to answer with what it has."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

from fermix.application.ports.workspace import StopReason


class Spent(Exception):
    """A limit is reached: the search ends, and what it found counts."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(slots=True, kw_only=True)
class Budget:
    """What is left for one call, counted in the thread that works.

    Attributes:
        monotonic: the clock.
        deadline: on that clock.
        given_up: set when nobody waits for the answer any more.
        entries: files and folders that may still be looked at.
        size: bytes that may still be read.
    """

    monotonic: Callable[[], float]
    deadline: float
    given_up: Event
    entries: int
    size: int

    def look(self) -> None:
        """Count one file or folder.

        Raises:
            Spent: there were too many, or it took too long.
        """
        self.entries -= 1
        if self.entries < 0:
            raise Spent(StopReason.ENTRIES)
        self.check_time()

    def read(self, size: int) -> None:
        """Count bytes.

        Raises:
            Spent: there were too many, or it took too long.
        """
        self.size -= size
        if self.size < 0:
            raise Spent(StopReason.BYTES)
        self.check_time()

    def check_time(self) -> None:
        """Raise `Spent` when time is up or nobody waits."""
        if self.given_up.is_set() or self.monotonic() > self.deadline:
            raise Spent(StopReason.TIME)

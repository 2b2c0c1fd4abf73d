"""Telemetry: what the work reports about itself, and which turn a log line is about."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol

from fermix.domain.ids import TurnId
from fermix.domain.telemetry import Event, facts_of


class Telemetry(Protocol):
    """Takes events; belongs to one event loop."""

    def emit(self, event: Event) -> None:
        """Take note of an event; costs microseconds and never waits, whatever becomes of it afterwards.

        Raises:
            ValueError: it is not registered, or a field holds what it must not: a mistake in the program.
        """
        ...


class _Unheard:
    def emit(self, event: Event) -> None:
        facts_of(event)


UNHEARD: Final[Telemetry] = _Unheard()
"""For whoever keeps no account of it; events are checked all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposition:
    """Metrics as a monitor reads them."""

    body: bytes
    content_type: str


_about: ContextVar[TurnId | None] = ContextVar("fermix_turn", default=None)


@contextmanager
def about_turn(turn: TurnId | None) -> Iterator[None]:
    """Let every line that is logged meanwhile, in tasks started meanwhile too, name this turn."""
    before = _about.set(turn)
    try:
        yield
    finally:
        _about.reset(before)


def turn_spoken_of() -> TurnId | None:
    """The turn that the running task works on, when it works on one."""
    return _about.get()

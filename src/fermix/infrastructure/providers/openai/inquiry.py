"""One request of a wire, ready to be sent, and the state machine that will read its stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fermix.application.ports.model import ModelAnswer
from fermix.infrastructure.providers.openai.foreign import JsonObject
from fermix.infrastructure.providers.openai.sse import Event


class Assembly(Protocol):
    """An answer while its stream arrives."""

    @property
    def finished(self) -> bool:
        """Whether the answer is whole."""
        ...

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        ...

    def take(self, event: Event) -> str:
        """Take one event and return the visible text it adds."""
        ...

    def answer(self) -> ModelAnswer:
        """The whole answer, once `finished`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What to send where, below an endpoint's address, and what begins to read the answer."""

    path: str
    body: JsonObject
    assemble: Callable[[], Assembly]

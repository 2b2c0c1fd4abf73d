"""One request of a wire, ready to be sent, and the state machine that will read its stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import anyio.to_thread

from fermix.application.ports.model import ModelAnswer
from fermix.infrastructure.providers.openai.foreign import JsonObject
from fermix.infrastructure.providers.openai.sse import Event

T = TypeVar("T")


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

    def thoughts(self) -> Sequence[str]:
        """The thoughts that became whole since this was asked last."""
        ...

    def answer(self) -> ModelAnswer:
        """The whole answer, once `finished`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who is told of an answer while it arrives: as `Model.complete` says."""

    on_text: Callable[[str], None]
    on_thought: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What to send where, below an endpoint's address, and what begins to read the answer.

    Attributes:
        shows_pictures: whether its refusal may be one of a picture; and it is worked on in a thread.
    """

    path: str
    body: JsonObject
    assemble: Callable[[], Assembly]
    shows_pictures: bool = False


async def worked_out(work: Callable[[], T], *, heavy: bool) -> T:
    """Do something at once, or in a thread where it is heavy: four large pictures hold up the loop for 0.1 s."""
    return await anyio.to_thread.run_sync(work) if heavy else work()

"""What the suite of channels needs to know of an adapter: how to open it and direct its platform."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Protocol

from fermix.application.ports.channel import Channel, OutgoingPart


class FarSide(Protocol):
    """A platform with its people. What it cannot do or show raises `CannotArrange`."""

    def user_writes(self, *texts: str) -> None:
        """Somebody writes these messages, in this order, in one chat."""
        ...

    async def saw(self, count: int) -> Sequence[str]:
        """Wait until so many parts are shown; their texts, in order."""
        ...

    @property
    def tries(self) -> int:
        """How often a part was sent, whatever became of it."""
        ...

    @property
    def acknowledged(self) -> int:
        """How many messages will not be offered again."""
        ...

    async def acknowledges(self, count: int) -> None:
        """Wait until so many messages will not be offered again."""
        ...

    def rate_limit_next(self, wait: timedelta) -> None:
        """The next part is refused with a wait."""
        ...

    def cut_the_line(self) -> None:
        """The next part cannot leave: nobody is there."""
        ...

    def lose_the_answer(self) -> None:
        """The next part is shown, and the line breaks before its sender hears so."""
        ...

    def refuse_next(self) -> None:
        """The next part is refused for good."""
        ...

    def stall_next(self) -> None:
        """The next part gets no answer, for as long as its sender waits; later ones do."""
        ...

    async def stalled(self) -> None:
        """Wait until a sender waits for the answer that does not come."""
        ...


class OpenChannel(Protocol):
    """A channel with the platform behind it."""

    @property
    def channel(self) -> Channel:
        """The adapter under test."""
        ...

    @property
    def far_side(self) -> FarSide:
        """Its platform."""
        ...

    def again(self) -> Channel:
        """The adapter as the next process opens it, over the same platform."""
        ...

    def part(self, text: str) -> OutgoingPart:
        """A part for whoever writes on the far side."""
        ...


class ChannelHarness(Protocol):
    """One kind of adapter, opened anew for each check."""

    @property
    def patience(self) -> timedelta:
        """How long at most adapter and platform may take for anything."""
        ...

    def open(self) -> AbstractAsyncContextManager[OpenChannel]:
        """The adapter over a platform of its own."""
        ...

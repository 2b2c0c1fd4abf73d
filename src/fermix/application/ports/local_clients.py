"""Terminals that wait for the reply to a request of theirs."""

from contextlib import AbstractContextManager
from typing import Protocol

from fermix.domain.delivery import Part
from fermix.domain.ids import PlatformMessageId


class PartStream(Protocol):
    """The reply parts of one request, in order."""

    async def receive(self) -> Part:
        """The next part; waits for it."""
        ...

    def receive_nowait(self) -> Part:
        """The next part that is here already.

        Raises:
            anyio.WouldBlock: there is none.
        """
        ...


class LocalClients(Protocol):
    """Where the local channel delivers: whoever asked, as long as they are there."""

    def attach(self, request: PlatformMessageId) -> AbstractContextManager[PartStream]:
        """Wait here for the parts that answer `request`; what comes after leaving is not delivered."""
        ...

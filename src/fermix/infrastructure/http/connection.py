"""One HTTP connection, with a limit on how long a request may take to arrive, that gives way while it is idle."""

from typing import Any, ClassVar

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol


class BoundedConnection(H11Protocol):
    """uvicorn's h11 connection, closed when a request's headers, or a body nobody reads, do not end in time.

    uvicorn limits only the wait between an answer and the next request's first byte. A client that opens
    connections and says nothing, or a byte now and then, would hold all that we allow.

    Where as many connections are open as are allowed, uvicorn answers the next request 503. Platforms keep the
    lines of their last burst open, so the longest idle one makes room instead: a call that is turned away comes
    again seconds later, behind what was written after it.

    Attributes:
        request_seconds: from the opening, or from the answer before, to the end of a request's headers.
        silent_since: when it was opened, or its last answer had left; by the loop's clock.
    """

    request_seconds: ClassVar[float] = 10.0

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._patience = self.loop.call_later(self.request_seconds, self._lose_patience)
        self.silent_since = self.loop.time()
        self._make_room()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()
        super().connection_lost(exc)

    @override
    def on_response_complete(self) -> None:
        self._patience.cancel()
        self._patience = self.loop.call_later(self.request_seconds, self._lose_patience)
        self.silent_since = self.loop.time()
        super().on_response_complete()

    def _lose_patience(self) -> None:
        if self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE:
            self.transport.close()

    def _make_room(self) -> None:
        limit = self.limit_concurrency
        if limit is None or len(self.connections) < limit:
            return
        idle = [one for one in self.connections if isinstance(one, BoundedConnection) and one.is_idle]
        others = [one for one in idle if one is not self]
        if others:
            # Out of the set at once: the loop tells of a closed line only in its next round.
            longest = min(others, key=lambda one: one.silent_since)
            self.connections.discard(longest)
            longest.transport.close()

    @property
    def is_idle(self) -> bool:
        """Whether nothing of a request has come, and no answer is owed."""
        return self.conn.states == {self.conn.our_role: h11.IDLE, self.conn.their_role: h11.IDLE}

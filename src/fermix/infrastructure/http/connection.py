"""One HTTP connection, with a limit on how long a request may take to arrive."""

from typing import Any, ClassVar

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol


class BoundedConnection(H11Protocol):
    """uvicorn's h11 connection, closed when a request's headers, or a body nobody reads, do not end in time.

    uvicorn limits only the wait between an answer and the next request's first byte. A client that opens
    connections and says nothing, or a byte now and then, would hold all that we allow.

    Attributes:
        request_seconds: from the opening, or from the answer before, to the end of a request's headers.
    """

    request_seconds: ClassVar[float] = 10.0

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._patience = self.loop.call_later(self.request_seconds, self._lose_patience)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()
        super().connection_lost(exc)

    @override
    def on_response_complete(self) -> None:
        self._patience.cancel()
        self._patience = self.loop.call_later(self.request_seconds, self._lose_patience)
        super().on_response_complete()

    def _lose_patience(self) -> None:
        if self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE:
            self.transport.close()

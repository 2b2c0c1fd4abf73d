"""What a running gateway answers its control socket, HTTP and the command line."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime

import anyio

from fermix.application.gateway.dispatcher import Dispatcher
from fermix.application.gateway.health import HealthBoard
from fermix.application.operations.ask import Ask
from fermix.application.operations.uploads import KeepUploads
from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.control import (
    AskEvent,
    AskRequest,
    Health,
    Identity,
    Principal,
    PrincipalCapability,
    RefusedSender,
    Status,
)
from fermix.application.ports.conversations import QueueView
from fermix.application.ports.lane_control import LaneControl
from fermix.application.ports.uploads import Upload
from fermix.domain.blob import BlobRef


@dataclass(slots=True, kw_only=True)
class Operations:
    """The `Control` port on top of the running gateway.

    Attributes:
        refused_lately: senders turned away, oldest first.
        stopping: set by `stop`, and by whatever else ends the process in order.
    """

    identity: Identity
    started_at: datetime
    ask_operation: Ask
    uploads: KeepUploads
    blobs: ReadsBlobs
    lanes: LaneControl
    dispatcher: Dispatcher
    queue: QueueView
    board: HealthBoard
    refused_lately: Callable[[], Sequence[RefusedSender]]
    http_port: int | None = None
    stopping: anyio.Event = field(default_factory=anyio.Event)

    def identify(self) -> Identity:
        """Who answers."""
        return self.identity

    async def health(self) -> Health:
        """Health alone."""
        return self.board.health()

    async def refused(self) -> tuple[RefusedSender, ...]:
        """Who was refused lately, the newest first."""
        return tuple(self.refused_lately())[::-1]

    async def status(self) -> Status:
        """How it stands."""
        counts = await self.queue.counts()
        return Status(
            identity=self.identity,
            started_at=self.started_at,
            draining=self.stopping.is_set(),
            health=self.board.health(),
            waiting=counts.waiting,
            running=self.dispatcher.running(),
            paused=counts.paused,
            open_parts=counts.open_parts,
            http_port=self.http_port,
        )

    def ask(
        self, request: AskRequest, principal: Principal
    ) -> AbstractAsyncContextManager[AsyncIterator[AskEvent]]:
        """Ask, and follow the turn."""
        return self.ask_operation(request, principal)

    async def keep(self, name: str, content: AsyncIterable[bytes], *, size: int) -> Upload:
        """Keep a file that a question may take along."""
        return await self.uploads(name, content, size=size)

    def open_file(self, blob: BlobRef) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The bytes of a file that an `AskFile` told of."""
        return self.blobs.open(blob)

    async def stop(self, principal: Principal) -> None:
        """Begin to drain."""
        if PrincipalCapability.CONTROL in principal.capabilities:
            self.stopping.set()

"""A gateway that follows a script, behind the real control socket, in a thread of its own."""

import os
import threading
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

import anyio
from anyio.abc import TaskStatus
from anyio.from_thread import start_blocking_portal

from fermix.application.operations.uploads import KeepUploads
from fermix.application.ports.blobs import Blobs
from fermix.application.ports.control import (
    AskAccepted,
    AskEnd,
    AskEnded,
    AskEvent,
    AskPart,
    AskProgress,
    AskRequest,
    ChannelHealth,
    ChannelStatus,
    Health,
    Identity,
    OwnerKind,
    Principal,
    ProviderHealth,
    Readiness,
    RefusedSender,
    Status,
)
from fermix.application.ports.conversations import ConversationSummary
from fermix.application.ports.lane_control import QueueReport, Resolution, ResolveEnd, ResolveRequest
from fermix.application.ports.queue_listing import QueueListing
from fermix.application.ports.uploads import Upload
from fermix.domain.blob import BlobRef
from fermix.domain.events import Numbered, TextDelta, TurnEvent, TurnStarted
from fermix.domain.ids import TurnId
from fermix.domain.turn import Outcome
from fermix.infrastructure.local_socket.limits import SocketLimits
from fermix.infrastructure.local_socket.server import serve
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs

PATIENCE_SECONDS = 10


class Hold(Enum):
    """A step that lasts until the asker leaves."""

    FOREVER = "forever"


Step = AskEvent | Hold
Script = Callable[[AskRequest], Sequence[Step]]


def progress(number: int, event: TurnEvent) -> AskProgress:
    return AskProgress(event=Numbered(number=number, event=event))


def answer(text: str, *, provider: str = "openai", model: str = "gpt-test") -> Sequence[Step]:
    """A turn that writes the text in pieces of three characters."""
    pieces = [text[start : start + 3] for start in range(0, len(text), 3)]
    return [
        AskAccepted(turn=TurnId(7)),
        progress(1, TurnStarted(provider=provider, model=model)),
        *(progress(number, TextDelta(text=piece)) for number, piece in enumerate(pieces, start=2)),
        AskPart(text=text),
        AskEnded(end=AskEnd.ANSWERED, text=text, outcome=Outcome.COMPLETED, provider=provider, model=model),
    ]


def echo(request: AskRequest) -> Sequence[Step]:
    return answer(request.text)


DONE = Resolution(end=ResolveEnd.RESOLVED, text="Done.", turn=TurnId(7))


@dataclass(kw_only=True)
class ScriptedLanes:
    """Conversations and a queue as the test wants them; remembers what was to be resolved."""

    found: tuple[ConversationSummary, ...] = ()
    listing: QueueListing = field(default_factory=QueueListing)
    resolution: Resolution = DONE
    requests: list[ResolveRequest] = field(default_factory=list[ResolveRequest])

    async def sessions(self, *, limit: int) -> tuple[ConversationSummary, ...]:
        return self.found[:limit]

    async def queue(self) -> QueueReport:
        return QueueReport(at=datetime(2026, 5, 1, 12, tzinfo=UTC), listing=self.listing)

    async def resolve(self, request: ResolveRequest) -> Resolution:
        self.requests.append(request)
        return self.resolution


@dataclass(kw_only=True)
class ScriptedControl:
    """The control port. Remembers what was asked and how each asker left; `ledger` is why its ledger fails.

    Files are kept for good: those that came with questions, and those that a script gives an asker.
    """

    lanes: ScriptedLanes = field(default_factory=ScriptedLanes)
    script: Script = echo
    ledger: Exception | None = None
    kind: OwnerKind = OwnerKind.DAEMON
    turned_away: tuple[RefusedSender, ...] = ()
    channels: tuple[ChannelHealth, ...] = (
        ChannelHealth(name="telegram", status=ChannelStatus.SETUP_REQUIRED, detail="No owner is set."),
    )
    asked: list[AskRequest] = field(default_factory=list[AskRequest])
    principals: list[Principal] = field(default_factory=list[Principal])
    holding: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)
    blobs: Blobs = field(default_factory=lambda: MemoryBlobs(clock=StoppedClock()))
    largest_file: int = 1024 * 1024

    def identify(self) -> Identity:
        return Identity(
            instance="instance-1",
            epoch=4,
            home="/somewhere",
            version="0.1.0",
            pid=os.getpid(),
            kind=self.kind,
        )

    async def health(self) -> Health:
        return Health(
            status=Readiness.DEGRADED,
            providers=(ProviderHealth(name="openai", model="gpt-test", status=Readiness.READY),),
            channels=self.channels,
            failures=("telegram",),
        )

    async def refused(self) -> tuple[RefusedSender, ...]:
        return self.turned_away

    async def status(self) -> Status:
        self._reach_ledger()
        return Status(
            identity=self.identify(),
            started_at=datetime(2026, 5, 1, 12, tzinfo=UTC),
            draining=False,
            health=await self.health(),
            waiting=2,
            running=1,
            paused=0,
            open_parts=3,
            http_port=4030,
        )

    @asynccontextmanager
    async def ask(self, request: AskRequest, principal: Principal) -> AsyncGenerator[AsyncIterator[AskEvent]]:
        self._reach_ledger()
        self.asked.append(request)
        self.principals.append(principal)
        try:
            async with aclosing(self._events(request)) as events:
                yield events
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise

    async def keep(self, name: str, content: AsyncIterable[bytes], *, size: int) -> Upload:
        return await KeepUploads(blobs=self.blobs, limit=self.largest_file)(name, content, size=size)

    def open_file(self, blob: BlobRef) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self.blobs.open(blob)

    async def stop(self, principal: Principal) -> None:
        self.principals.append(principal)
        self.stopped.set()

    def _reach_ledger(self) -> None:
        if self.ledger is not None:
            raise self.ledger

    async def _events(self, request: AskRequest) -> AsyncGenerator[AskEvent]:
        for step in self.script(request):
            if isinstance(step, Hold):
                self.holding.set()
                await anyio.sleep_forever()
            else:
                yield step


@contextmanager
def served(
    path: Path,
    control: ScriptedControl,
    *,
    limits: SocketLimits | None = None,
    owner_uid: int | None = None,
    backend: str = "asyncio",
) -> Iterator[None]:
    """Serve the socket while the block lasts."""

    async def run(*, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        uid = os.getuid() if owner_uid is None else owner_uid
        await serve(path, control, owner_uid=uid, limits=limits, task_status=task_status)

    with start_blocking_portal(backend) as portal:
        future, _ = portal.start_task(run)
        try:
            yield
        finally:
            future.cancel()

"""What the control socket, HTTP and the command line ask of the running gateway. They only translate."""

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from fermix.application.ports.lane_control import LaneControl
from fermix.application.ports.remarks import Remark
from fermix.application.ports.uploads import Upload
from fermix.domain.blob import BlobRef
from fermix.domain.delivery import MediaPart
from fermix.domain.events import Numbered
from fermix.domain.failure import Failure
from fermix.domain.ids import ChannelName, TurnId, UserId
from fermix.domain.transport import Transport
from fermix.domain.turn import Outcome


class OwnerKind(StrEnum):
    """What sort of process owns the home."""

    DAEMON = "daemon"
    IN_PROCESS = "in_process"


class PrincipalCapability(StrEnum):
    """What a connected client may do."""

    READ = "read"
    SUBMIT = "submit"
    CONTROL = "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A connected client as the kernel vouches for it; the socket's owner may do everything."""

    uid: int
    pid: int | None
    capabilities: frozenset[PrincipalCapability]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who answers on this socket.

    Attributes:
        instance: a UUID per process start.
        epoch: the ledger's owner count.
    """

    instance: str
    epoch: int
    home: str
    version: str
    pid: int
    kind: OwnerKind


class Readiness(StrEnum):
    """Overall health."""

    READY = "ready"
    DEGRADED = "degraded"
    SETUP_REQUIRED = "setup_required"


class ChannelStatus(StrEnum):
    """Health of one channel."""

    DISABLED = "disabled"
    READY = "ready"
    SETUP_REQUIRED = "setup_required"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelHealth:
    """One channel.

    Attributes:
        detail: one sentence for its owner when something is wrong.
        unreadable: how much of what the platform handed over could not be read, since this process runs.
        mode: how it hears from its platform, as the settings call it; `None` for channels without the choice.
        remarks: what its owner should know although it listens.
    """

    name: str
    status: ChannelStatus
    detail: str | None = None
    unreadable: int = 0
    mode: str | None = None
    remarks: tuple[Remark, ...] = ()

    @property
    def process_alive(self) -> bool | None:
        """Whether what goes and listens does; `None` where nothing has to: a webhook is called, or not served."""
        if self.mode in {None, Transport.WEBHOOK}:
            return None
        if self.status in {ChannelStatus.READY, ChannelStatus.DEGRADED}:
            return self.status is ChannelStatus.READY
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderHealth:
    """The provider that answers; `model` as it will be asked for.

    Attributes:
        auth_mode: how it is told who asks, as the settings call it; `None` where no section of theirs says so.
        primary: whether the settings name it as the one to ask.
    """

    name: str
    model: str | None
    status: Readiness
    detail: str | None = None
    auth_mode: str | None = None
    primary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Health of everything; `failures` name the components that make it worse than ready."""

    status: Readiness
    providers: tuple[ProviderHealth, ...]
    channels: tuple[ChannelHealth, ...]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What `fermix status` shows."""

    identity: Identity
    started_at: datetime
    draining: bool
    health: Health
    waiting: int
    running: int
    paused: int
    open_parts: int
    http_port: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSender:
    """A message that was turned away because its sender may not talk; kept in memory only.

    Its owner may look there for an id that is missing from the settings. Ids are as the platform tells them.
    """

    at: datetime
    channel: ChannelName
    sender_ids: tuple[UserId, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """One question from a terminal.

    Attributes:
        request: a UUID made by the client; the same one is never run twice.
        text: what is asked, context already joined; not blank, unless there are files.
        session: the conversation's name, `cli` by default.
        new: open a new history window first.
        model: `provider/model`, or a model of the primary provider; `None` for the configured one.
        cwd: the folder the client runs in.
        user: a display name.
        files: what goes along, kept already, in order.
    """

    request: str
    text: str
    session: str = "cli"
    new: bool = False
    model: str | None = None
    cwd: str | None = None
    user: str = "operator"
    files: tuple[Upload, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAccepted:
    """It is on disk; `turn` is `None` for a command."""

    turn: TurnId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskProgress:
    """Something happened in the turn."""

    event: Numbered


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPart:
    """A piece of the reply in its final form (the whole answer, a command's reply, a notice)."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFile:
    """A file for whoever asked, to be fetched from the store while they are there."""

    part: MediaPart


class AskEnd(StrEnum):
    """How an `ask` ended, besides the outcome of its turn."""

    ANSWERED = "answered"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskEnded:
    """The last event of an `ask`.

    Attributes:
        text: the whole reply: the parts joined; empty when nothing was said.
        notice: a sentence for stderr when there is no answer (failure, refusal, interruption).
        provider: the route that answered, when a turn ran.
    """

    end: AskEnd
    text: str
    notice: str | None = None
    outcome: Outcome | None = None
    failure: Failure | None = None
    provider: str | None = None
    model: str | None = None


AskEvent: TypeAlias = AskAccepted | AskProgress | AskPart | AskFile | AskEnded


class HealthView(Protocol):
    """What the health endpoints ask; every `Control` answers it too."""

    def identify(self) -> Identity:
        """Who answers."""
        ...

    async def health(self) -> Health:
        """Health alone."""
        ...


class Control(Protocol):
    """The operations of a running gateway."""

    @property
    def lanes(self) -> LaneControl:
        """Conversations and their queues."""
        ...

    def identify(self) -> Identity:
        """Who answers."""
        ...

    async def status(self) -> Status:
        """How it stands."""
        ...

    async def health(self) -> Health:
        """Health alone, for the endpoint."""
        ...

    async def refused(self) -> tuple[RefusedSender, ...]:
        """Who was refused lately, the newest first."""
        ...

    def ask(
        self, request: AskRequest, principal: Principal
    ) -> AbstractAsyncContextManager[AsyncIterator[AskEvent]]:
        """Ask, and follow the turn: events end with one `AskEnded`.

        Leaving the context before that cancels the turn.
        """
        ...

    async def keep(self, name: str, content: AsyncIterable[bytes], *, size: int) -> Upload:
        """Keep a file that a question may take along.

        Args:
            name: what its sender calls it.
            content: its bytes; its errors pass through, and nothing of the file is left then.
            size: how many are to come, by its sender's word.

        Raises:
            UploadRefused: it cannot be taken.
        """
        ...

    def open_file(self, blob: BlobRef) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The bytes of a file that an `AskFile` told of, piece by piece.

        Raises:
            BlobError: it cannot be read (any more).
        """
        ...

    async def stop(self, principal: Principal) -> None:
        """Begin to drain and end the process in order; returns at once."""
        ...

"""Every event that the work reports about itself. What is not listed in `EVENTS` cannot be emitted.

No event holds what anybody wrote, who they are or where they wrote it. The names are those of the specification,
with dots: what it calls `[:fermix, :channel, :message]` is `fermix.channel.message`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar, TypeAlias

from fermix.domain.delivery import MediaKind
from fermix.domain.failure import FailureKind
from fermix.domain.ids import ChannelName
from fermix.domain.message import AttachmentKind
from fermix.domain.telemetry_fields import EventKind, Name, SessionId, TraceFile, kind_of
from fermix.domain.telemetry_words import (
    CallStatus,
    Decision,
    Direction,
    Limit,
    MessageEnd,
    Phase,
    ReplyType,
    SendStatus,
    ToolEnd,
    TurnEnd,
    Unavailability,
)
from fermix.domain.trust import Trust
from fermix.domain.turn import Outcome

Channel: TypeAlias = Annotated[ChannelName, "the channel's registered name"]
Command: TypeAlias = Annotated[Name, "the command's own name, whatever alias was typed"]
Session: TypeAlias = Annotated[SessionId, "the turn"]
MaybeSession: TypeAlias = Annotated[SessionId | None, "the turn, when it belongs to one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMessage:
    """A message came in and was decided on, or a part of a reply went out or was given up."""

    NAME: ClassVar[str] = "fermix.channel.message"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    direction: Annotated[Direction, "which way"]
    result: Annotated[MessageEnd, "what became of it"]
    session_id: MaybeSession = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelReply:
    """One attempt to send one part ended."""

    NAME: ClassVar[str] = "fermix.channel.reply"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    reply_type: Annotated[ReplyType, "what was sent"]
    status: Annotated[SendStatus, "how it ended"]
    repeated: Annotated[bool, "whether an earlier attempt may have arrived"]
    duration: Annotated[float, "of the attempt"]
    session_id: MaybeSession = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaSendError:
    """A file could not be sent."""

    NAME: ClassVar[str] = "fermix.channel.media_send_error"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    media_kind: Annotated[MediaKind, "as what it was to be shown"]
    reason: Annotated[SendStatus, "how the attempt ended"]
    session_id: MaybeSession = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelStream:
    """Something was done to the part of an answer that people see before it is finished."""

    NAME: ClassVar[str] = "fermix.channel.stream"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    channel: Channel
    phase: Annotated[Phase, "what was done"]
    succeeded: Annotated[bool, "whether the platform took it"]
    duration: Annotated[float, "of the call; of `open`, from the turn's start to the draft"]
    index: Annotated[int, "writes or blocks so far, this one included"]
    dropped: Annotated[int, "at the end of a draft, states of the text that newer ones replaced"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReceived:
    """A slash command came in from somebody who may talk."""

    NAME: ClassVar[str] = "fermix.command.received"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUnauthorized:
    """A slash command was refused because of its sender's role."""

    NAME: ClassVar[str] = "fermix.command.unauthorized"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDispatch:
    """A slash command was carried out."""

    NAME: ClassVar[str] = "fermix.command.dispatch"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    command: Command
    duration: Annotated[float, "from its arrival to its commit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionMessage:
    """An inbound voice or audio message was transcribed, or could not be."""

    NAME: ClassVar[str] = "fermix.transcription.message"
    TRACE: ClassVar[TraceFile] = TraceFile.LLM_CALL

    channel: Channel
    status: Annotated[CallStatus, "how it ended"]
    duration: Annotated[float, "of the attempt that ended it, with what was downloaded for it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaIngest:
    """A file that hung on a message was prepared for its turn, or could not be."""

    NAME: ClassVar[str] = "fermix.media_ingest.message"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    kind: Annotated[AttachmentKind, "what it is by its content, where it was looked at"]
    status: Annotated[CallStatus, "how it ended"]
    duration: Annotated[float, "of the attempt that ended it"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressAuthorize:
    """A sender was decided on."""

    NAME: ClassVar[str] = "fermix.ingress.authorize"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    result: Annotated[Decision, "what was decided"]
    trust: Annotated[Trust | None, "of whoever may talk"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherNormalize:
    """A message lacked something required."""

    NAME: ClassVar[str] = "fermix.dispatcher.normalize"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    field: Annotated[Name, "the field that is missing or of a wrong type"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUnavailable:
    """A message met a gateway that is ending, or a ledger that takes no writes."""

    NAME: ClassVar[str] = "fermix.dispatcher.agent_unavailable"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    channel: Channel
    reason: Annotated[Unavailability, "why"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressFailed:
    """A channel stopped listening and is started again after a pause."""

    NAME: ClassVar[str] = "fermix.dispatcher.ingress_failed"
    TRACE: ClassVar[TraceFile] = TraceFile.CHANNEL_MSG

    channel: Channel
    reason: Annotated[Name, "the kind of its error"]
    pause: Annotated[float, "until it is started again"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyCompletion:
    """A model finished without a word."""

    NAME: ClassVar[str] = "fermix.dispatcher.empty_completion"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    channel: Channel
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStart:
    """A turn left the queue and runs."""

    NAME: ClassVar[str] = "fermix.gateway.queue.request_start"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    channel: Channel
    messages: Annotated[int, "how many it answers"]
    attempt: Annotated[int, "runs so far, this one included"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestComplete:
    """The run of a turn ended."""

    NAME: ClassVar[str] = "fermix.gateway.queue.request_complete"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    channel: Channel
    status: Annotated[TurnEnd, "how it ended"]
    failure: Annotated[FailureKind | None, "why there is no answer"]
    duration: Annotated[float, "of the whole run, its delivery not counted"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettle:
    """The end of a turn was committed: outcome, history and reply."""

    NAME: ClassVar[str] = "fermix.gateway.queue.settle"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    channel: Channel
    outcome: Annotated[Outcome, "how it settled"]
    duration: Annotated[float, "of the commit"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHistory:
    """The history of a conversation was read for a turn."""

    NAME: ClassVar[str] = "fermix.agent.history"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    entries: Annotated[int, "how many it has"]
    duration: Annotated[float, "of reading it"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCall:
    """One request to a model ended."""

    NAME: ClassVar[str] = "fermix.provider.call"
    TRACE: ClassVar[TraceFile] = TraceFile.LLM_CALL

    provider: Annotated[Name, "the provider's name in the settings"]
    model: Annotated[Name, "the model"]
    status: Annotated[CallStatus, "how it ended"]
    failure: Annotated[FailureKind | None, "why there is no answer"]
    step: Annotated[int, "requests of this turn so far, this one included"]
    duration: Annotated[float, "of the request, its stream included"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExec:
    """A call that a model asked for ended, or was not run: exactly one event for each call."""

    NAME: ClassVar[str] = "fermix.tool.exec"
    TRACE: ClassVar[TraceFile] = TraceFile.TOOL_EXEC

    tool: Annotated[Name, "its registered name; `unknown` for a name that no tool has"]
    status: Annotated[ToolEnd, "what became of it"]
    duration: Annotated[float, "of the call; 0 when it was not run"]
    session_id: Session


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutExpired:
    """A time limit of ours was over."""

    NAME: ClassVar[str] = "fermix.timeout.expired"
    TRACE: ClassVar[TraceFile] = TraceFile.AGENT_EVENT

    kind: Annotated[Limit, "which"]
    limit: Annotated[float, "how long it was"]
    session_id: MaybeSession = None


Event: TypeAlias = (
    ChannelMessage
    | ChannelReply
    | MediaSendError
    | ChannelStream
    | CommandReceived
    | CommandUnauthorized
    | CommandDispatch
    | TranscriptionMessage
    | MediaIngest
    | IngressAuthorize
    | DispatcherNormalize
    | AgentUnavailable
    | IngressFailed
    | EmptyCompletion
    | RequestStart
    | RequestComplete
    | TurnSettle
    | AgentHistory
    | ProviderCall
    | ToolExec
    | TimeoutExpired
)

EVENTS: Mapping[type, EventKind] = MappingProxyType({event: kind_of(event) for event in Event.__args__})
"""The registry: every class of events, with its name, its fields and where it is written."""


def facts_of(event: Event) -> tuple[EventKind, tuple[object, ...]]:
    """An event's kind and the values of its fields, in the kind's order.

    Raises:
        ValueError: it is not registered, or a field holds what it must not.
    """
    kind = EVENTS.get(type(event))
    if kind is None:
        raise ValueError(f"{type(event).__name__} is no registered event")
    values = kind.read(event)
    if tuple(map(type, values)) not in kind.signatures:
        raise ValueError(f"{kind.name} does not take {values!r}")
    return kind, values

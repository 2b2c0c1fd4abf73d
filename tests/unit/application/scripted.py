"""A model that plays a script, tools that record, and messages: real objects behind the ports, for unit tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fermix.application.ports.model import ModelAnswer, ModelError, ModelProfile, ModelRequest, ToolCall
from fermix.application.ports.tools import ToolContext, ToolResult
from fermix.application.ports.turns import ClaimedMessage, PreparedMedia
from fermix.domain.capability import Capability, RiskClass
from fermix.domain.ids import AccountId, ChannelName, MessageRow
from fermix.domain.incoming_media import MediaResult
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import RawMessage, Registration, normalise
from fermix.domain.route import target_of
from fermix.domain.trust import Trust

TELEGRAM = Registration(channel=ChannelName("telegram"), account=AccountId("bot"))

PROFILE = ModelProfile(provider="scripted", model="one")


def raw(text: str = "hello", **facts: object) -> RawMessage:
    message: dict[str, object] = {
        "id": "m1",
        "content": text,
        "sender": "Ann",
        "sender_id": "1001",
        "chat_id": "c1",
        "reply_target": "c1",
    }
    message.update(facts)
    return message  # type: ignore[return-value]  # tests also hand over what no adapter would


def message(text: str = "hello", *, registration: Registration = TELEGRAM, **facts: object) -> InboundMessage:
    made = normalise(raw(text, **facts), registration)
    assert isinstance(made, InboundMessage)
    return made


def claimed(message: InboundMessage, *results: MediaResult, row: int = 1) -> ClaimedMessage:
    """A message of a claimed turn, with what became of its attachments, in order."""
    return ClaimedMessage(
        row=MessageRow(row),
        message=message,
        target=target_of(message),
        trust=Trust.OPERATOR,
        media=tuple(
            PreparedMedia(position=position, result=result) for position, result in enumerate(results)
        ),
    )


@dataclass(slots=True)
class ScriptedModel:
    """Answers one step after another; a step is an answer or an error."""

    steps: Sequence[ModelAnswer | ModelError]
    profile: ModelProfile = PROFILE
    requests: list[ModelRequest] = field(default_factory=list)

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        self.requests.append(request)
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        if isinstance(step, ModelError):
            raise step
        for piece in step.text.split(" "):
            on_text(piece)
        return step


def says(text: str) -> ModelAnswer:
    return ModelAnswer(text=text)


def calls(*names: str, arguments: str = "{}") -> ModelAnswer:
    return ModelAnswer(
        text="",
        tool_calls=tuple(
            ToolCall(call_id=f"call_{number}", name=name, arguments=arguments)
            for number, name in enumerate(names)
        ),
    )


@dataclass(slots=True)
class RecordingTool:
    """A tool that does what it is told and remembers its calls."""

    name: str
    risk: RiskClass = RiskClass.READ_ONLY
    owner_data: bool = False
    category: str = "general"
    act: Callable[[Mapping[str, object]], ToolResult] = lambda _arguments: ToolResult(text="done")
    calls: list[Mapping[str, object]] = field(default_factory=list)

    @property
    def capability(self) -> Capability:
        return Capability(
            name=self.name,
            description=f"Does {self.name}.",
            risk=self.risk,
            owner_data=self.owner_data,
            category=self.category,
        )

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        self.calls.append(arguments)
        return self.act(arguments)

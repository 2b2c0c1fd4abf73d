"""The model port: one request to a language model, streamed, and the ways it can fail."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from fermix.domain.failure import Failure, FailureKind
from fermix.domain.history import HistoryEntry

MAX_THOUGHT = 2_000
"""Characters of one thought that are told: enough for its headings, which is what people get to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What a provider route (provider + model) can do, as data.

    Attributes:
        provider: the configured name, e.g. `openai`, `local`.
        model: the model id sent on the wire.
        context_window: tokens the model can see, prompt and answer together; `None` when unknown.
        max_output_tokens: tokens kept free for the answer when a history is cut to the window; `None`
            leaves the limit to the provider.
        tools: whether tool definitions may be sent.
        vision: whether image parts may be sent.
        max_concurrent_turns: turns that may use this route at once; `None` means no own limit.
        system_prompt: replaces the agent's own system prompt (small models need a short one).
    """

    provider: str
    model: str
    context_window: int | None = None
    max_output_tokens: int | None = None
    tools: bool = True
    vision: bool = False
    max_concurrent_turns: int | None = None
    system_prompt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A capability as a model sees it; `parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call the model asked for.

    `arguments` is the text the model wrote, unparsed: whether it is a JSON object is for the agent loop to
    judge, which answers the model when it is not. `call_id` is never empty.
    """

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the provider reported them; zero when it reported none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request: a system prompt, the conversation so far (last entry is what to answer), and tools.

    Attributes:
        pictures: by digest, the bytes of those pictures in `entries` that are shown; of any other picture the
            model is told that it was there.
    """

    system: str
    entries: tuple[HistoryEntry, ...]
    tools: tuple[ToolDefinition, ...] = ()
    pictures: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """A finished answer: the stream ended as the wire says it must (a cut stream is an error, not an answer).

    Attributes:
        text: visible text, possibly empty.
        tool_calls: in the order the model made them.
        usage: token counts.
        provider_state: opaque text that this provider wants back with this answer in later requests
            (reasoning items); kept with the history entry and sent only to the provider that made it.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    provider_state: str | None = None


class Model(Protocol):
    """A language model behind one provider route. Raises `ModelError` and nothing else (but cancellation)."""

    @property
    def profile(self) -> ModelProfile:
        """What this route can do."""
        ...

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        """Ask once and stream; never retries on its own.

        Args:
            request: what to answer.
            on_text: called with each new piece of visible text, in order, from the same task; must not
                block. When the call ends well, the pieces joined equal `ModelAnswer.text`.
            on_thought: called likewise with each thought that the provider tells, when it is whole: Markdown,
                not blank, cut to `MAX_THOUGHT`, never a part of the text. `None`: nobody wants to know, and
                a provider that has to be asked for its thoughts is not.

        Raises:
            ModelError: with a `Failure` that says what the asker can do.
        """
        ...


class ModelError(Exception):
    """No answer came. `failure` is what the application acts on, `__cause__` is for the operator."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind} ({failure.provider or '-'}/{failure.model or '-'})")
        self.failure = failure

    @property
    def kind(self) -> FailureKind:
        """Shortcut to the failure's kind."""
        return self.failure.kind

    @property
    def retry_after(self) -> timedelta | None:
        """Shortcut to the wait the provider asked for."""
        return self.failure.retry_after

"""`[fermix_core.providers.<name>]` and `[fermix_core.routing]`: the model services and what goes to which."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from fermix.infrastructure.settings.section import (
    Credential,
    FilePath,
    FromCode,
    Seconds,
    Section,
    Text,
    WebAddress,
)

Wire: TypeAlias = Literal["responses", "chat_completions"]
ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ProviderSettings(Section):
    """One model service. Any name is allowed that has a `base_url`."""

    primary: bool = False
    """Answers when nothing else is asked for; at most one provider may have it."""
    default_model: Text | None = None
    """The model to ask; see the defaults below."""
    auth_mode: Literal["api_key", "oauth"] = "api_key"
    """How the service is told who asks; `oauth` (a subscription) cannot run in this version."""
    api_key: Credential | None = None
    """The service's key."""
    base_url: WebAddress | None = None
    """Address of the service, up to and including its version (`/v1`)."""
    reasoning_effort: ReasoningEffort | None = None
    """How much the model thinks; not for openrouter, mistral, ollama, venice and local. With one set, OpenAI is
    asked for summaries of its thoughts where they are shown (`streaming = "block"`, `ask -v`)."""
    wire: Wire | None = None
    """Protocol; unset: `responses` for openai and xai without `base_url`, else `chat_completions`."""
    context_window: Annotated[int, Field(ge=256, le=100_000_000)] | None = None
    """Tokens the model can see, question and answer together; unset: not known."""
    vision: bool | None = None
    """Whether the model reads pictures; unset: yes for openai and xai without `base_url`, else no."""
    timeout_seconds: Seconds | None = None
    """How long one request may stay silent; unset: 120, for ollama and local 300."""
    model_path: FilePath | None = None
    """Only for `local`: a GGUF file to use instead of the built-in model."""
    fast: bool | None = None
    """Only for openai_codex, which cannot run in this version; accepted and ignored."""
    oauth_token: Annotated[Credential | None, FromCode()] = None


class ProviderOverride(Section):
    """What the environment says about whichever provider answers."""

    provider: Text | None = None
    default_model: Text | None = None
    reasoning_effort: ReasoningEffort | None = None


class RoutingSettings(Section):
    """Other models for work beside the conversation; unset means the main model."""

    subagent_model: Text | None = None
    """Model of sub-agents."""
    subagent_provider: Text | None = None
    """Provider of sub-agents."""
    subagent_reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort of sub-agents."""
    cron_model: Text | None = None
    """Model of scheduled jobs."""
    cron_provider: Text | None = None
    """Provider of scheduled jobs."""
    cron_reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort of scheduled jobs."""

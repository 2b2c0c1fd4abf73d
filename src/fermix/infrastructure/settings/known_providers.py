"""What is known about model services by name: order, address, usual model, and what cannot run here."""

from collections.abc import Mapping
from dataclasses import dataclass

LOCAL = "local"
"""The embedded model; answers when nothing else is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """Facts about one service.

    Attributes:
        base_url: where it is; `None`: the client library knows, or nobody does.
        default_model: asked when no model is named; `None`: the models differ from server to server.
        keyless: whether it answers without a key.
        responses: whether it speaks the Responses protocol at its own address.
        vision: whether its usual models read pictures.
        timeout_seconds: how long one request may stay silent.
        effort: whether it takes a reasoning effort.
        runs: whether this version can talk to it; those that cannot need an explicit `base_url` and `wire` of a
            compatible server.
        variable: the environment variable of its key.
    """

    base_url: str | None = None
    default_model: str | None = None
    keyless: bool = False
    responses: bool = False
    vision: bool = False
    timeout_seconds: float = 120
    effort: bool = True
    runs: bool = True
    variable: str | None = None


KNOWN_PROVIDERS: Mapping[str, KnownProvider] = {
    "openai_codex": KnownProvider(runs=False),
    "openai": KnownProvider(
        default_model="gpt-5.4-mini", responses=True, vision=True, variable="OPENAI_API_KEY"
    ),
    "anthropic": KnownProvider(runs=False, variable="ANTHROPIC_API_KEY"),
    "xai": KnownProvider(
        base_url="https://api.x.ai/v1",
        default_model="grok-4",
        responses=True,
        vision=True,
        variable="XAI_API_KEY",
    ),
    "openrouter": KnownProvider(
        base_url="https://openrouter.ai/api/v1",
        default_model="openrouter/auto",
        effort=False,
        variable="OPENROUTER_API_KEY",
    ),
    "mistral": KnownProvider(
        base_url="https://api.mistral.ai/v1",
        default_model="mistral-medium-latest",
        effort=False,
        variable="MISTRAL_API_KEY",
    ),
    "ollama": KnownProvider(
        base_url="http://localhost:11434/v1", keyless=True, timeout_seconds=300, effort=False
    ),
    "venice": KnownProvider(effort=False),
    LOCAL: KnownProvider(
        default_model="smollm2-135m-instruct", keyless=True, timeout_seconds=300, effort=False
    ),
}
"""In the order in which configured ones are tried when none is primary; `local` is what remains."""

KNOWN_NAMES = frozenset(KNOWN_PROVIDERS)
EFFORTLESS = frozenset(name for name, known in KNOWN_PROVIDERS.items() if not known.effort)

OTHER = KnownProvider()
"""A server that is known only by its address."""

"""Where a provider is reached and with which key, and how an adapter gets to know it at the last moment."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

DEFAULT_BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "xai": "https://api.x.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "mistral": "https://api.mistral.ai/v1",
    "ollama": "http://localhost:11434/v1",
}
"""Addresses of the providers that need no `base_url` in the configuration."""

_KEYLESS = frozenset({"ollama"})


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A provider's key; its text never shows in a `repr`."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One address to ask.

    Attributes:
        base_url: up to and including the version, e.g. `http://127.0.0.1:8000/v1`. `None` when nobody gave
            one and the provider has no known address. A user and password in it are sent as basic
            authorization when there is no key, and are never logged.
        api_key: sent as bearer token; `None` or blank sends none.
        key_required: whether a request without a key is refused here instead of by the provider.
    """

    base_url: str | None
    api_key: ApiKey | None = None
    key_required: bool = False


EndpointSource: TypeAlias = Callable[[], AbstractAsyncContextManager[Endpoint]]
"""Opened around each request. What it holds stays valid until it is left; it may raise `ModelError`."""


def fixed_endpoint(
    provider: str, *, base_url: str | None = None, api_key: str | None = None
) -> EndpointSource:
    """An endpoint that never changes.

    Args:
        provider: the configured name; those of `DEFAULT_BASE_URLS` need no `base_url`.
        base_url: where to ask; a server that somebody names may work without a key.
        api_key: the key; `None` when none is configured.
    """
    endpoint = Endpoint(
        base_url=base_url or DEFAULT_BASE_URLS.get(provider),
        api_key=ApiKey(api_key) if api_key else None,
        key_required=base_url is None and provider not in _KEYLESS,
    )

    @asynccontextmanager
    async def source() -> AsyncGenerator[Endpoint]:
        yield endpoint

    return source

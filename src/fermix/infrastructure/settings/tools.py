"""`[fermix_core.tools.*]` and `[fermix_core.computer_use]`: what the agent's tools need to know."""

from typing import Annotated, Literal

from pydantic import Field

from fermix.infrastructure.settings.section import Credential, Milliseconds, Section, Text


class WebSearchSettings(Section):
    """Web search."""

    backend: Literal["duckduckgo", "brave", "tavily", "exa", "parallel", "perplexity", "firecrawl"] = (
        "duckduckgo"
    )
    """Who searches; duckduckgo needs no key."""
    brave_api_key: Credential | None = None
    """Key of brave."""
    tavily_api_key: Credential | None = None
    """Key of tavily."""
    exa_api_key: Credential | None = None
    """Key of exa."""
    parallel_api_key: Credential | None = None
    """Key of parallel."""
    perplexity_api_key: Credential | None = None
    """Key of perplexity."""
    firecrawl_api_key: Credential | None = None
    """Key of firecrawl."""


class ToolSearchSettings(Section):
    """Naming tools of servers first and describing them when asked."""

    enabled: bool = True
    """Whether tools of MCP servers are looked up instead of always described."""


class GenerateImageSettings(Section):
    """Image generation."""

    backend: Literal["openai", "google", "xai", "openai_codex"] | None = None
    """Who draws; unset: nobody."""
    model: Text | None = None
    """The backend's model; unset: the backend's usual one."""
    size: Annotated[Text, Field(pattern=r"^(auto|[1-9]\d{1,4}x[1-9]\d{1,4})$")] | None = None
    """`auto`, or width x height such as `1024x1024`."""
    google_api_key: Credential | None = None
    """Key of google."""


class ToolsSettings(Section):
    """All tool sections."""

    web_search: WebSearchSettings = WebSearchSettings()
    tool_search: ToolSearchSettings = ToolSearchSettings()
    generate_image: GenerateImageSettings = GenerateImageSettings()


class ComputerUseSettings(Section):
    """Letting the agent use the desktop; off unless switched on."""

    enabled: bool = False
    """Whether the agent may be offered screen, mouse and keyboard at all."""
    display: Annotated[int, Field(ge=0, le=64)] = 0
    """Which display, counted from 0."""
    screenshot_after: bool = True
    """Whether each action is followed by a picture."""
    max_actions: Annotated[int, Field(ge=1, le=10_000)] = 80
    """Actions of one task."""
    max_retained_screenshots: Annotated[int, Field(ge=0, le=1000)] = 3
    """Pictures kept in the conversation."""
    courtesy: Literal["yield", "off"] = "yield"
    """Whether the agent waits while somebody uses the machine."""
    courtesy_idle_ms: Milliseconds = 1000
    """How long nobody must have touched the machine."""
    background: bool = False
    """Whether it works inside one window."""

"""Asking a provider in tests: one model per wire against a server, and what came of it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from fermix.application.ports.model import (
    Model,
    ModelAnswer,
    ModelError,
    ModelProfile,
    ModelRequest,
    ToolDefinition,
)
from fermix.domain.failure import Failure
from fermix.domain.history import HistoryEntry, UserEntry
from fermix.infrastructure.providers.openai.endpoint import EndpointSource, fixed_endpoint
from fermix.infrastructure.providers.openai.factory import OpenAIModel, Wire, build_model

LOOK = ToolDefinition(
    name="look",
    description="Looks at a path.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)


@asynccontextmanager
async def model_at(
    base_url: str | None,
    wire: Wire,
    *,
    key: str | None = "test-key",
    model: str = "strict-1",
    provider: str = "strict",
    timeout_seconds: float = 5.0,
    endpoint: EndpointSource | None = None,
    reasoning_effort: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> AsyncGenerator[OpenAIModel]:
    """A model behind `base_url`, closed when left."""
    made = build_model(
        profile=ModelProfile(provider=provider, model=model),
        wire=wire,
        endpoint=endpoint or fixed_endpoint(provider, base_url=base_url, api_key=key),
        timeout_seconds=timeout_seconds,
        reasoning_effort=reasoning_effort,
        extra_body=extra_body,
    )
    try:
        yield made
    finally:
        await made.aclose()


async def ask(
    model: Model,
    *entries: HistoryEntry,
    text: str = "Hello?",
    shown: list[str] | None = None,
    within: float = 10,
) -> ModelAnswer:
    """One question, with a tool on offer."""
    pieces = shown if shown is not None else []
    request = ModelRequest(system="Be kind.", entries=(*entries, UserEntry(text=text)), tools=(LOOK,))
    with anyio.fail_after(within):
        answer = await model.complete(request, on_text=pieces.append)
    assert "".join(pieces) == answer.text
    return answer


async def failure(model: Model, shown: list[str] | None = None) -> Failure:
    """The failure of one question that must have no answer."""
    with pytest.raises(ModelError) as caught:
        await ask(model, shown=shown)
    return caught.value.failure

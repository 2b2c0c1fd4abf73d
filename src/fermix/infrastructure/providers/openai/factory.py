"""Building the model of one provider route from plain values. Imports no SDK."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from fermix.application.ports.model import Model, ModelProfile
from fermix.infrastructure.providers.openai.chat_completions import ChatCompletionsModel
from fermix.infrastructure.providers.openai.endpoint import EndpointSource
from fermix.infrastructure.providers.openai.responses import ResponsesModel


class Wire(StrEnum):
    """The two protocols; the values are those of the configuration's `wire`."""

    RESPONSES = "responses"
    CHAT_COMPLETIONS = "chat_completions"


class OpenAIModel(Model, Protocol):
    """A model together with the life of its client."""

    async def warm(self) -> None:
        """Load the SDK (half a second, in a thread) ahead of the first request.

        Raises:
            ModelError: the proxy or certificates that the environment names cannot be used.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def default_wire(provider: str, *, base_url: str | None) -> Wire:
    """The wire of a provider whose configuration names none."""
    if provider in {"openai", "xai"} and base_url is None:
        return Wire.RESPONSES
    return Wire.CHAT_COMPLETIONS


def build_model(
    *,
    profile: ModelProfile,
    wire: Wire,
    endpoint: EndpointSource,
    timeout_seconds: float,
    reasoning_effort: str | None = None,
    extra_body: Mapping[str, object] | None = None,
) -> OpenAIModel:
    """Build the adapter; nothing is opened or loaded before the first request.

    Args:
        profile: name, model and abilities of the route.
        wire: which protocol the server speaks.
        endpoint: `fixed_endpoint(…)`, or a source that learns its address only when it is entered.
        timeout_seconds: limit between two bytes, and for each other stage of a request.
        reasoning_effort: sent as it is to models that reason; `None` sends none.
        extra_body: fields that only this server knows, added to every request.
    """
    make = ResponsesModel if wire is Wire.RESPONSES else ChatCompletionsModel
    return make(
        profile=profile,
        endpoint=endpoint,
        timeout_seconds=timeout_seconds,
        reasoning_effort=reasoning_effort,
        extra_body=extra_body,
    )

"""Models behind the Responses wire: OpenAI and xAI, and whoever follows them."""

from collections.abc import Callable, Mapping

from fermix.application.ports.model import ModelAnswer, ModelProfile, ModelRequest
from fermix.infrastructure.providers.openai import responses_wire
from fermix.infrastructure.providers.openai.endpoint import EndpointSource
from fermix.infrastructure.providers.openai.exchange import Exchange
from fermix.infrastructure.providers.openai.inquiry import Inquiry


class ResponsesModel:
    """The `Model` port over `POST {base_url}/responses`, always streamed, nothing stored at the provider."""

    def __init__(
        self,
        *,
        profile: ModelProfile,
        endpoint: EndpointSource,
        timeout_seconds: float,
        reasoning_effort: str | None = None,
        extra_body: Mapping[str, object] | None = None,
    ) -> None:
        self._profile = profile
        self._exchange = Exchange(profile=profile, endpoint=endpoint, timeout_seconds=timeout_seconds)
        self._reasoning_effort = reasoning_effort
        self._extra_body = dict(extra_body or {})

    @property
    def profile(self) -> ModelProfile:
        """What this route can do."""
        return self._profile

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None]) -> ModelAnswer:
        """Ask once and stream.

        Raises:
            ModelError: no whole answer came.
        """
        body = responses_wire.request_body(
            request,
            profile=self._profile,
            reasoning_effort=self._reasoning_effort,
            extra=self._extra_body,
        )
        inquiry = Inquiry(
            path=responses_wire.PATH,
            body=body,
            assemble=lambda: responses_wire.ResponsesAssembly(model=self._profile.model),
        )
        return await self._exchange.ask(inquiry, on_text=on_text)

    async def warm(self) -> None:
        """Load the SDK ahead of the first request."""
        await self._exchange.warm()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._exchange.aclose()

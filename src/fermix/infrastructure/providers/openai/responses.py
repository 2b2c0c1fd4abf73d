"""Models behind the Responses wire: OpenAI and xAI, and whoever follows them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from fermix.application.ports.model import ModelAnswer, ModelProfile, ModelRequest
from fermix.infrastructure.providers.openai import responses_wire
from fermix.infrastructure.providers.openai.endpoint import EndpointSource
from fermix.infrastructure.providers.openai.exchange import Exchange
from fermix.infrastructure.providers.openai.inquiry import Inquiry, Listener, worked_out
from fermix.infrastructure.providers.openai.refusal import Refusal


class ResponsesModel:
    """The `Model` port over `POST {base_url}/responses`, always streamed, nothing stored at the provider.

    Summaries of thoughts are asked for when somebody wants them and the model was told to reason. A server that
    refuses them by name (OpenAI, to organisations it has not verified) is asked once more without, and from then
    on only so: the request was never run.
    """

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
        self._may_ask_for_summaries = reasoning_effort not in {None, "none"}

    @property
    def profile(self) -> ModelProfile:
        """What this route can do."""
        return self._profile

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        """Ask once and stream.

        Raises:
            ModelError: no whole answer came.
        """
        build = partial(
            responses_wire.request_body,
            request,
            profile=self._profile,
            reasoning_effort=self._reasoning_effort,
            extra=self._extra_body,
            summaries=on_thought is not None and self._may_ask_for_summaries,
        )
        inquiry = Inquiry(
            path=responses_wire.PATH,
            body=await worked_out(build, heavy=bool(request.pictures)),
            assemble=lambda: responses_wire.ResponsesAssembly(model=self._profile.model),
            shows_pictures=bool(request.pictures),
        )

        def without_summaries(refusal: Refusal) -> Inquiry | None:
            if refusal.status not in {400, 403, 422} or "summar" not in refusal.detail.lower():
                return None
            body = responses_wire.without_summaries(inquiry.body)
            if body == inquiry.body:
                return None
            self._may_ask_for_summaries = False
            return replace(inquiry, body=body)

        listener = Listener(on_text=on_text, on_thought=on_thought)
        return await self._exchange.ask(inquiry, listener, amend=without_summaries)

    async def warm(self) -> None:
        """Load the SDK ahead of the first request."""
        await self._exchange.warm()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._exchange.aclose()

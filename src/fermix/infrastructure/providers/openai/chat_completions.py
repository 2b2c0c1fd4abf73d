"""Models behind the Chat Completions wire: OpenAI and nearly every compatible server."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from fermix.application.ports.model import ModelAnswer, ModelProfile, ModelRequest
from fermix.infrastructure.providers.openai import chat_wire
from fermix.infrastructure.providers.openai.endpoint import EndpointSource
from fermix.infrastructure.providers.openai.exchange import Exchange
from fermix.infrastructure.providers.openai.inquiry import Inquiry, Listener, worked_out
from fermix.infrastructure.providers.openai.refusal import Refusal


class ChatCompletionsModel:
    """The `Model` port over `POST {base_url}/chat/completions`, always streamed.

    A server that refuses `stream_options` by name is asked once more without it, and from then on only so:
    the request was never run, and the answer merely lacks its token counts.
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
        self._ask_for_usage = True

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
        """Ask once and stream; servers of this wire tell thoughts without being asked for them.

        Raises:
            ModelError: no whole answer came.
        """
        build = partial(
            chat_wire.request_body,
            request,
            profile=self._profile,
            reasoning_effort=self._reasoning_effort,
            extra=self._extra_body,
            usage=self._ask_for_usage,
        )
        inquiry = Inquiry(
            path=chat_wire.PATH,
            body=await worked_out(build, heavy=bool(request.pictures)),
            assemble=lambda: chat_wire.ChatAssembly(model=self._profile.model),
            shows_pictures=bool(request.pictures),
        )

        def without_usage(refusal: Refusal) -> Inquiry | None:
            if refusal.status not in {400, 422} or "stream_options" not in refusal.detail:
                return None
            body = {name: value for name, value in inquiry.body.items() if name != "stream_options"}
            if len(body) == len(inquiry.body):
                return None
            self._ask_for_usage = False
            return replace(inquiry, body=body)

        return await self._exchange.ask(
            inquiry, Listener(on_text=on_text, on_thought=on_thought), amend=without_usage
        )

    async def warm(self) -> None:
        """Load the SDK ahead of the first request."""
        await self._exchange.warm()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._exchange.aclose()

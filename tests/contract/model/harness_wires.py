"""Both wires under the hands of the suite: the real client against a server that takes nothing inexact."""

import json
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import anyio
import anyio.to_thread

from fermix.application.ports.model import Model, ModelAnswer, ModelProfile
from fermix.infrastructure.providers.openai.endpoint import EndpointSource, fixed_endpoint
from fermix.infrastructure.providers.openai.factory import OpenAIModel, Wire, build_model
from fermix.testing.model_conformance import RATE_LIMIT_WAIT, Deed, Trouble
from fermix.testing.servers.openai_strict.script import Answer, Call, Frames, Hang, Refuse, Say
from fermix.testing.servers.openai_strict.server import StrictServer, strict_server
from tests.contract.model.harness_endpoint import BETWEEN, WRONG_KEY, TroubledEndpoint, closed_port

KEY = "Tr0ub4dor&3-correct/horse+battery=staple"
SHORT_SECONDS = 0.3
LONG_SECONDS = 60.0

_WORDS = {
    Wire.CHAT_COMPLETIONS: {"choices": [{"index": 0, "delta": {"content": "The answer is"}}]},
    Wire.RESPONSES: {"type": "response.output_text.delta", "item_id": "m", "delta": "The answer is"},
}
_CALL = {
    Wire.CHAT_COMPLETIONS: {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}]
                },
            }
        ]
    },
    Wire.RESPONSES: {
        "type": "response.output_item.done",
        "item": {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
    },
}


def _event(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _refused(status: int, code: str, **headers: str) -> Refuse:
    message = f"no, not for Bearer {KEY}"
    return Refuse(status=status, body={"error": {"code": code, "message": message}}, headers=headers)


def _answers(wire: Wire) -> dict[Trouble, Answer]:
    """What the server does to bring each trouble about."""
    words, call = _event(_WORDS[wire]), _event(_CALL[wire])
    wait = str(int(RATE_LIMIT_WAIT.total_seconds()))
    error = _event({"error": {"message": f"overloaded: {KEY}", "code": 503}})
    return {
        Trouble.UNKNOWN_MODEL: _refused(404, "model_not_found"),
        Trouble.RATE_LIMITED: _refused(429, "rate_limit_exceeded", **{"Retry-After": wait}),
        Trouble.RATE_LIMITED_FOR_LONG: _refused(429, "rate_limit_exceeded"),
        Trouble.NO_VISION: Refuse(
            status=404,
            body={"error": {"message": "No endpoints found that support image input", "code": 404}},
        ),
        Trouble.PICTURE_REFUSED: _refused(400, "image_parse_error"),
        Trouble.TOO_LONG: _refused(400, "context_length_exceeded"),
        Trouble.SILENT: Hang(stage="headers"),
        Trouble.SILENT_BEFORE_WORDS: Hang(stage="body"),
        Trouble.SILENT_AMONG_WORDS: Hang(stage="middle"),
        Trouble.CUT_AMONG_WORDS: Frames(frames=(words,), end="cut"),
        Trouble.CUT_IN_A_CALL: Frames(frames=(call,), end="close"),
        Trouble.ERROR_AMONG_WORDS: Frames(frames=(words, error), end="close"),
    }


def _said(answer: ModelAnswer) -> Say:
    usage = answer.usage
    return Say(
        text=answer.text,
        calls=tuple(
            Call(id=call.call_id, name=call.name, arguments=call.arguments) for call in answer.tool_calls
        ),
        reasoning=answer.provider_state or "",
        usage=(usage.prompt_tokens, usage.completion_tokens),
    )


class StrictProvider:
    """The `Provider` behind a wire: the server, the endpoint before it, and a server of another provider."""

    def __init__(
        self, wire: Wire, *, server: StrictServer, other: StrictServer, endpoint: TroubledEndpoint
    ) -> None:
        self._troubles = _answers(wire)
        self._servers = (server, other)
        self._server = server
        self._endpoint = endpoint

    def will(self, *deeds: Deed) -> None:
        for deed in deeds:
            if isinstance(deed, Trouble) and deed in BETWEEN:
                self._endpoint.script.append(deed)
                continue
            self._endpoint.script.append(None)
            self._server.will(_said(deed) if isinstance(deed, ModelAnswer) else self._troubles[deed])

    async def asked(self, times: int) -> None:
        while len(self._server.requests) < times:
            await anyio.lowlevel.checkpoint()

    @property
    def requests(self) -> int:
        return len(self._server.requests)

    async def left(self) -> None:
        await anyio.to_thread.run_sync(self._server.left.wait, 10)
        self._server.left.clear()

    def shown(self) -> list[bytes]:
        return self._server.requests[-1].pictures

    def was_told(self, words: str) -> bool:
        return any(words in str(request.body) for server in self._servers for request in server.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWire:
    model: Model
    elsewhere: Model
    provider: StrictProvider
    secrets: tuple[str, ...] = (KEY, KEY[8:20], WRONG_KEY)


class WireHarness:
    """A `ModelHarness` over one of the wires."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    @property
    def patience(self) -> timedelta:
        return timedelta(seconds=10)

    @asynccontextmanager
    async def open(self, *, impatient: bool = False) -> AsyncGenerator[OpenWire]:
        with ExitStack() as stack:
            server = stack.enter_context(strict_server(key=KEY))
            other = stack.enter_context(strict_server(key=KEY))
            nobody = stack.enter_context(closed_port())
            source = fixed_endpoint("strict", base_url=server.base_url, api_key=KEY)
            endpoint = TroubledEndpoint(source, nobody=nobody)
            seconds = SHORT_SECONDS if impatient else LONG_SECONDS
            model = self._model("strict", endpoint, seconds)
            elsewhere = self._model(
                "another", fixed_endpoint("another", base_url=other.base_url, api_key=KEY), seconds
            )
            await model.warm()
            try:
                yield OpenWire(
                    model=model,
                    elsewhere=elsewhere,
                    provider=StrictProvider(self._wire, server=server, other=other, endpoint=endpoint),
                )
            finally:
                await model.aclose()
                await elsewhere.aclose()

    def _model(self, provider: str, endpoint: EndpointSource, seconds: float) -> OpenAIModel:
        return build_model(
            profile=ModelProfile(provider=provider, model="strict-1"),
            wire=self._wire,
            endpoint=endpoint,
            timeout_seconds=seconds,
            reasoning_effort="low",
        )

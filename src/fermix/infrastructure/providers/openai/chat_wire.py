"""The Chat Completions wire without I/O: our request as its body, its stream as our answer."""

from collections.abc import Mapping

from fermix.application.ports.model import ModelAnswer, ModelProfile, ModelRequest, ToolDefinition, Usage
from fermix.domain.failure import FailureKind
from fermix.infrastructure.providers.openai import wordings
from fermix.infrastructure.providers.openai.bounds import BOUNDS, Bounds
from fermix.infrastructure.providers.openai.conversation import Answered, Said, Shown, steps
from fermix.infrastructure.providers.openai.foreign import (
    JsonObject,
    as_count,
    as_list,
    as_object,
    as_text,
    parsed,
    well_formed,
)
from fermix.infrastructure.providers.openai.reasoning import Reasoning, reasoning_fields, reasoning_text
from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError, Refusal, broken
from fermix.infrastructure.providers.openai.replies import refusal_from_stream
from fermix.infrastructure.providers.openai.sse import Event
from fermix.infrastructure.providers.openai.thoughts import Thoughts
from fermix.infrastructure.providers.openai.tool_deltas import ToolDeltas

PATH = "/chat/completions"
NO_ANSWER = "(No answer was given.)"


def request_body(
    request: ModelRequest,
    *,
    profile: ModelProfile,
    reasoning_effort: str | None = None,
    extra: Mapping[str, object] | None = None,
    usage: bool = True,
) -> JsonObject:
    """The body of one streamed request.

    Args:
        request: what to answer.
        profile: the route; `tools` decides whether definitions are sent, `max_output_tokens` limits the answer.
        reasoning_effort: sent as it is; `None` sends none.
        extra: fields of one server (sampling of the local model); they win over ours.
        usage: whether to ask for token counts, which a few servers refuse.
    """
    body: JsonObject = {"model": profile.model, "messages": _messages(request, profile), "stream": True}
    if usage:
        body["stream_options"] = {"include_usage": True}
    if profile.tools and request.tools:
        body["tools"] = [_tool(definition) for definition in request.tools]
    if reasoning_effort is not None:
        body["reasoning_effort"] = reasoning_effort
    if profile.max_output_tokens is not None:
        # OpenAI's reasoning models refuse the old name, most compatible servers do not know the new one.
        field = "max_completion_tokens" if profile.provider == "openai" else "max_tokens"
        body[field] = profile.max_output_tokens
    return body | dict(extra or {})


def _tool(definition: ToolDefinition) -> JsonObject:
    return {
        "type": "function",
        "function": {
            "name": definition.name,
            "description": well_formed(definition.description),
            "parameters": dict(definition.parameters),
        },
    }


def _messages(request: ModelRequest, profile: ModelProfile) -> list[JsonObject]:
    out: list[JsonObject] = []
    if request.system.strip():
        out.append({"role": "system", "content": well_formed(request.system)})
    known = steps(request.entries, provider=profile.provider, tools=profile.tools, pictures=request.pictures)
    for step in known:
        if isinstance(step, Said):
            if out and out[-1]["role"] == "tool":
                # Mistral refuses a user message right after a tool's, which a stopped turn leaves behind.
                out.append({"role": "assistant", "content": NO_ANSWER})
            content = step.text
            out.append({"role": "user", "content": [*map(_part, step.parts)] if content is None else content})
        else:
            out.extend(_answered(step, profile))
    return out


def _part(part: str | Shown) -> JsonObject:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": part.data_url, "detail": "auto"}}


def _answered(step: Answered, profile: ModelProfile) -> list[JsonObject]:
    if not step.calls and step.provider_state is None:
        return [{"role": "assistant", "content": step.text}]
    message: JsonObject = {"role": "assistant"}
    if step.text.strip() or not step.calls:
        message["content"] = step.text
    message |= reasoning_fields(step.provider_state, model=profile.model)
    if step.calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in step.calls
        ]
    results: list[JsonObject] = [
        {"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in step.results
    ]
    return [message, *results]


class ChatAssembly:
    """One answer while its stream arrives; knows no socket.

    `finished` says that the answer is whole, `done` that nothing more will come.
    """

    def __init__(self, *, model: str, bounds: Bounds = BOUNDS) -> None:
        self.finished = False
        self.done = False
        self._model = model
        self._bounds = bounds
        self._pieces: list[str] = []
        self._size = 0
        self._calls = ToolDeltas(bounds)
        self._reasoning = Reasoning(bounds)
        self._usage = Usage()
        self._thoughts = Thoughts()
        self._thought = 0

    def take(self, event: Event) -> str:
        """Take the next event.

        Returns:
            The visible text it adds, often empty.

        Raises:
            AnswerRefusedError: the event is an error, says that the answer is not whole, breaks the wire's
                form, or exceeds a bound.
        """
        if event.data.strip() == "[DONE]":
            self.finished = self.done = True
            return ""
        chunk = parsed(event.data)
        if not isinstance(chunk, dict):
            raise broken("an event of the stream is no JSON object")
        fields = as_object(chunk)
        if fields.get("error") or event.name == "error":
            raise AnswerRefusedError(refusal_from_stream(fields))
        counts = as_object(fields.get("usage"))
        if counts:
            self._usage = Usage(
                prompt_tokens=as_count(counts.get("prompt_tokens")),
                completion_tokens=as_count(counts.get("completion_tokens")),
            )
        choices = as_list(fields.get("choices"))
        return self._choice(as_object(choices[0])) if choices else ""

    def thoughts(self) -> tuple[str, ...]:
        """The thoughts that became whole since this was asked last."""
        return self._thoughts.told()

    def answer(self) -> ModelAnswer:
        """The whole answer; to be asked for once `finished`.

        Raises:
            AnswerRefusedError: a tool call has no name.
        """
        return ModelAnswer(
            text="".join(self._pieces),
            tool_calls=self._calls.calls(),
            usage=self._usage,
            provider_state=self._reasoning.state(self._model),
        )

    def _choice(self, choice: JsonObject) -> str:
        if choice.get("error"):
            raise AnswerRefusedError(refusal_from_stream(choice))
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        self._reasoning.add(delta)
        self._thoughts.add(self._thought, reasoning_text(delta))
        text = _visible(delta.get("content")) + as_text(delta.get("refusal"))
        self._size += len(text)
        if self._size > self._bounds.text_chars:
            raise broken("the answer is longer than allowed")
        fragments = as_list(delta.get("tool_calls"))
        for fragment in fragments:
            self._calls.add(fragment)
        if text or fragments or choice.get("finish_reason"):
            # This wire marks no end of a thought; it is whole when something else follows.
            self._thoughts.end(self._thought)
            self._thought += 1
        self._end(as_text(choice.get("finish_reason")))
        if text:
            self._pieces.append(text)
        return text

    def _end(self, reason: str) -> None:
        if reason == "content_filter":
            raise AnswerRefusedError(
                Refusal(
                    kind=FailureKind.PROVIDER_FAILED,
                    detail="the provider's content filter stopped the answer",
                )
            )
        if reason == "error":
            raise broken("the provider stopped in the middle of the answer")
        if reason in wordings.CONTEXT_CODES and not self._size:
            raise AnswerRefusedError(
                Refusal(kind=FailureKind.CONTEXT_TOO_LONG, detail="no room for an answer")
            )
        self.finished = self.finished or bool(reason)


def _visible(content: object) -> str:
    """The text of a delta's content; Mistral's reasoning models send a list of text and thinking parts."""
    if isinstance(content, str):
        return content
    parts = [as_object(part) for part in as_list(content)]
    return "".join(as_text(part.get("text")) for part in parts if part.get("type") == "text")

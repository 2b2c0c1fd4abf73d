"""The Responses wire without I/O: our request as its body, its stream as our answer."""

import json
from collections.abc import Mapping

from fermix.application.ports.model import (
    ModelAnswer,
    ModelProfile,
    ModelRequest,
    ToolCall,
    ToolDefinition,
    Usage,
)
from fermix.domain.failure import FailureKind
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
from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError, Refusal, broken
from fermix.infrastructure.providers.openai.replies import refusal_from_stream
from fermix.infrastructure.providers.openai.sse import Event
from fermix.infrastructure.providers.openai.thoughts import Thoughts
from fermix.infrastructure.providers.openai.tool_deltas import made_up_id

PATH = "/responses"
_NOT_ON_THIS_WIRE = frozenset({"temperature", "top_p"})
_REASONING_FIELDS = ("type", "id", "summary", "content", "encrypted_content")
_BETWEEN_MESSAGES = "\n\n"


def request_body(
    request: ModelRequest,
    *,
    profile: ModelProfile,
    reasoning_effort: str | None = None,
    extra: Mapping[str, object] | None = None,
    summaries: bool = False,
) -> JsonObject:
    """The body of one streamed request that the provider does not store.

    Args:
        request: what to answer.
        profile: the route; `tools` decides whether definitions are sent, `max_output_tokens` limits the answer.
        reasoning_effort: `None` leaves reasoning to the provider; with an effort the model's encrypted
            reasoning is asked for, so that it can go back with the next request.
        extra: fields of one server; sampling temperature is left out, which this wire's models refuse.
        summaries: whether to ask a model that reasons for summaries of its thoughts.
    """
    body: JsonObject = {
        "model": profile.model,
        "input": _input(request, profile),
        "stream": True,
        "store": False,
    }
    if request.system.strip():
        body["instructions"] = well_formed(request.system)
    if profile.tools and request.tools:
        body["tools"] = [_tool(definition) for definition in request.tools]
    if reasoning_effort is not None:
        body["reasoning"] = {"effort": reasoning_effort} | ({"summary": "auto"} if summaries else {})
        if reasoning_effort != "none":
            body["include"] = ["reasoning.encrypted_content"]
    if profile.max_output_tokens is not None:
        body["max_output_tokens"] = profile.max_output_tokens
    return body | {name: value for name, value in (extra or {}).items() if name not in _NOT_ON_THIS_WIRE}


def without_summaries(body: JsonObject) -> JsonObject:
    """The same request, which asks for no summaries of thoughts."""
    reasoning = {name: value for name, value in as_object(body.get("reasoning")).items() if name != "summary"}
    return body | {"reasoning": reasoning} if reasoning else body


def _tool(definition: ToolDefinition) -> JsonObject:
    # Strict is the wire's default and refuses schemas with optional properties.
    return {
        "type": "function",
        "name": definition.name,
        "description": well_formed(definition.description),
        "parameters": dict(definition.parameters),
        "strict": False,
    }


def _input(request: ModelRequest, profile: ModelProfile) -> list[JsonObject]:
    out: list[JsonObject] = []
    known = steps(request.entries, provider=profile.provider, tools=profile.tools, pictures=request.pictures)
    for step in known:
        if isinstance(step, Said):
            content = step.text
            parts = [*map(_part, step.parts)] if content is None else content
            out.append({"type": "message", "role": "user", "content": parts})
        else:
            out.extend(_answered(step, profile))
    return out


def _part(part: str | Shown) -> JsonObject:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "image_url": part.data_url, "detail": "auto"}


def _answered(step: Answered, profile: ModelProfile) -> list[JsonObject]:
    """The items of one answer in the order the model made them, then the results."""
    waiting: dict[str, JsonObject] = {}
    if step.text.strip():
        waiting["message"] = {"type": "message", "role": "assistant", "content": step.text}
    for call in step.calls:
        waiting[f"call:{call.call_id}"] = {
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
        }
    out: list[JsonObject] = []
    for place in _kept_order(step.provider_state, profile.model):
        item = waiting.pop(place, None) if isinstance(place, str) else as_object(place)
        if item:
            out.append(item)
    # Reasoning must be followed by what it led to; an answer that lost its items loses its reasoning too.
    while out and out[-1].get("type") == "reasoning" and not waiting:
        out.pop()
    results: list[JsonObject] = [
        {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
        for result in step.results
    ]
    return [*out, *waiting.values(), *results]


def _kept_order(state: str | None, model: str) -> list[object]:
    kept = as_object(parsed(state)) if state else {}
    return as_list(kept.get("order")) if kept.get("model") == model else []


class ResponsesAssembly:
    """One answer while its stream arrives; knows no socket.

    `finished` and `done` turn true together, with the event that ends the response.
    """

    def __init__(self, *, model: str, bounds: Bounds = BOUNDS) -> None:
        self.finished = False
        self.done = False
        self._model = model
        self._bounds = bounds
        self._pieces: list[str] = []
        self._size = 0
        self._speaking: object = None
        self._items: list[JsonObject] = []
        self._usage = Usage()
        self._thoughts = Thoughts()

    def take(self, event: Event) -> str:
        """Take the next event.

        Returns:
            The visible text it adds, often empty.

        Raises:
            AnswerRefusedError: the event is an error, says that the answer is not whole, breaks the wire's
                form, or exceeds a bound.
        """
        if event.data.strip() == "[DONE]":
            return ""
        fields = as_object(parsed(event.data))
        if not fields:
            raise broken("an event of the stream is no JSON object")
        kind = as_text(fields.get("type")) or event.name
        if kind == "error" or fields.get("error"):
            raise AnswerRefusedError(refusal_from_stream(fields))
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                return self._speak(fields.get("item_id"), as_text(fields.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._thoughts.add(_thought(kind, fields), as_text(fields.get("delta")))
            case "response.reasoning_summary_text.done" | "response.reasoning_text.done":
                self._thoughts.end(_thought(kind, fields), as_text(fields.get("text")))
            case "response.output_item.done":
                self._keep(as_object(fields.get("item")))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                return self._end(kind, as_object(fields.get("response")))
            case _:
                pass
        return ""

    def thoughts(self) -> tuple[str, ...]:
        """The thoughts that became whole since this was asked last."""
        return self._thoughts.told()

    def answer(self) -> ModelAnswer:
        """The whole answer; to be asked for once `finished`.

        Raises:
            AnswerRefusedError: there are more calls, longer arguments or more reasoning than allowed, or a call
                has no name.
        """
        taken = {as_text(item.get("call_id")) for item in self._items}
        calls: list[ToolCall] = []
        order: list[object] = []
        for item in self._items:
            match item.get("type"):
                case "function_call":
                    call = _call(item, len(calls) + 1, taken, self._bounds)
                    calls.append(call)
                    order.append(f"call:{call.call_id}")
                case "message":
                    order.append("message")
                case "reasoning" if item.get("encrypted_content"):
                    order.append({name: item[name] for name in _REASONING_FIELDS if name in item})
                case _:
                    pass
        if len(calls) > self._bounds.calls:
            raise broken("the answer holds more tool calls than allowed")
        return ModelAnswer(
            text="".join(self._pieces),
            tool_calls=tuple(calls),
            usage=self._usage,
            provider_state=self._state(order),
        )

    def _state(self, order: list[object]) -> str | None:
        if all(isinstance(place, str) for place in order):
            return None
        state = json.dumps({"model": self._model, "order": order})
        if len(state) > self._bounds.text_chars:
            raise broken("the model's reasoning is longer than allowed")
        return state

    def _speak(self, item_id: object, text: str) -> str:
        if not text:
            return ""
        self._thoughts.end_all()
        if self._pieces and item_id != self._speaking:
            text = _BETWEEN_MESSAGES + text
        self._speaking = item_id
        self._size += len(text)
        if self._size > self._bounds.text_chars:
            raise broken("the answer is longer than allowed")
        self._pieces.append(text)
        return text

    def _keep(self, item: JsonObject) -> None:
        if len(self._items) >= 4 * self._bounds.calls:
            raise broken("the answer holds more items than allowed")
        self._items.append(item)
        if item.get("type") == "reasoning":
            for number, part in enumerate(as_list(item.get("summary"))):
                self._thoughts.end(
                    (as_text(item.get("id")), "summary", number), as_text(as_object(part).get("text"))
                )
            self._thoughts.end_all()

    def _end(self, kind: str, response: JsonObject) -> str:
        reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        if kind == "response.failed":
            raise AnswerRefusedError(refusal_from_stream(response))
        if kind == "response.cancelled":
            raise broken("the provider cancelled the answer")
        if reason == "content_filter":
            raise AnswerRefusedError(
                Refusal(
                    kind=FailureKind.PROVIDER_FAILED,
                    detail="the provider's content filter stopped the answer",
                )
            )
        counts = as_object(response.get("usage"))
        self._usage = Usage(
            prompt_tokens=as_count(counts.get("input_tokens")),
            completion_tokens=as_count(counts.get("output_tokens")),
        )
        # The last event repeats all items; servers that leave them out have sent each one as it ended.
        output = [as_object(item) for item in as_list(response.get("output"))]
        self._items = output or self._items
        self.finished = self.done = True
        return "" if self._pieces else self._unspoken()

    def _unspoken(self) -> str:
        """Text that was never streamed, on servers that only send whole items."""
        messages = [item for item in self._items if item.get("type") == "message"]
        return "".join(self._speak(number, _message_text(item)) for number, item in enumerate(messages))


def _thought(kind: str, fields: JsonObject) -> tuple[str, str, object]:
    """What a thought is called: its item, whether it is a summary, and its place."""
    is_summary = kind.startswith("response.reasoning_summary")
    place = as_count(fields.get("summary_index" if is_summary else "content_index"))
    return as_text(fields.get("item_id")), "summary" if is_summary else "text", place


def _message_text(item: JsonObject) -> str:
    parts = [as_object(part) for part in as_list(item.get("content"))]
    return "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)


def _call(item: JsonObject, number: int, taken: set[str], bounds: Bounds) -> ToolCall:
    name, arguments = as_text(item.get("name")), as_text(item.get("arguments"))
    if not name:
        raise broken("a tool call has no name")
    if len(arguments) > bounds.argument_chars:
        raise broken("the arguments of a tool call are longer than allowed")
    return ToolCall(
        call_id=as_text(item.get("call_id")) or made_up_id(number, taken), name=name, arguments=arguments
    )

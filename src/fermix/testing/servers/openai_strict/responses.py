"""The Responses wire as OpenAI documents it: request rules and the frames of an answer."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fermix.testing.servers.openai_strict import rules
from fermix.testing.servers.openai_strict.script import Say

_PART = rules.by(
    "type",
    {
        "input_text": rules.fields({"type": rules.text, "text": rules.text}),
        "input_image": rules.fields(
            {"type": rules.text, "image_url": rules.data_url},
            {"detail": rules.exactly("auto", "low", "high")},
        ),
        "output_text": rules.fields({"type": rules.text, "text": rules.text}),
    },
)


_SUMMARY = rules.fields({"type": rules.exactly("summary_text"), "text": rules.text})


def _content(value: Any, path: str) -> None:
    if not isinstance(value, str):
        rules.items(_PART, at_least=1)(value, path)


_ITEM = rules.by(
    "type",
    {
        "message": rules.fields(
            {"type": rules.text, "role": rules.exactly("user", "assistant"), "content": _content}
        ),
        "function_call": rules.fields(
            {
                "type": rules.text,
                "call_id": rules.filled,
                "name": rules.name,
                "arguments": rules.json_object_text,
            }
        ),
        "function_call_output": rules.fields(
            {"type": rules.text, "call_id": rules.filled, "output": rules.text}
        ),
        "reasoning": rules.fields(
            {
                "type": rules.text,
                "id": rules.filled,
                "summary": rules.items(_SUMMARY),
                "encrypted_content": rules.filled,
            }
        ),
    },
)
_TOOL = rules.fields(
    {
        "type": rules.exactly("function"),
        "name": rules.name,
        "parameters": rules.schema,
        "strict": rules.exactly(False),
    },
    {"description": rules.text},
)
BODY = rules.fields(
    {
        "model": rules.filled,
        "input": rules.items(_ITEM, at_least=1),
        "stream": rules.exactly(True),
        "store": rules.exactly(False),
    },
    {
        "instructions": rules.filled,
        "include": rules.items(rules.exactly("reasoning.encrypted_content")),
        "reasoning": rules.fields(
            {"effort": rules.exactly("none", "minimal", "low", "medium", "high", "xhigh")},
            {"summary": rules.exactly("auto", "concise", "detailed")},
        ),
        "tools": rules.items(_TOOL, at_least=1),
        "max_output_tokens": rules.positive,
        "parallel_tool_calls": rules.flag,
    },
)


def check(body: Any, reasoned: Mapping[str, str]) -> None:
    """Raise `WrongField` unless `body` is right; `reasoned` maps a reasoning item's id to its content."""
    BODY(body, "body")
    waiting: list[str] = []
    last = ""
    for position, item in enumerate(body["input"]):
        path, last = f"body.input[{position}]", item["type"]
        if item["type"] == "function_call":
            waiting.append(item["call_id"])
        elif item["type"] == "function_call_output":
            rules.expect(waiting and item["call_id"] == waiting.pop(0), path, "is no result that was due")
        elif item["type"] == "reasoning":
            rules.expect(item["encrypted_content"] == reasoned.get(item["id"]), path, "was not made here")
        else:
            rules.expect(not waiting, path, f"results of {waiting} are missing before it")
    rules.expect(not waiting and last in {"message", "function_call_output"}, "body.input", "must end whole")


def last_user_text(body: dict[str, Any]) -> str:
    """What the person said last; empty when nobody said anything."""
    texts = (item["content"] for item in reversed(body["input"]) if item.get("role") == "user")
    return rules.words_of(next(texts, ""))


def remember(answer: Say, reasoned: dict[str, str]) -> None:
    """Note the sealed thoughts of an answer, which must come back unchanged."""
    if answer.reasoning:
        item = _reasoning(answer)
        reasoned[item["id"]] = item["encrypted_content"]


def _reasoning(answer: Say) -> dict[str, Any]:
    secret = f"sealed:{answer.reasoning}"
    return {"type": "reasoning", "id": f"rs_{len(secret)}", "summary": [], "encrypted_content": secret}


def frames(answer: Say, body: dict[str, Any]) -> Iterator[str]:
    """The events of a whole answer."""
    yield _event("response.created", response={"id": "resp_1", "status": "in_progress"})
    output: list[dict[str, Any]] = []
    if answer.reasoning:
        item = _reasoning(answer)
        if not body.get("include"):
            item.pop("encrypted_content")
        told: list[str] = []
        if "summary" in body.get("reasoning", {}):
            item["summary"] = [{"type": "summary_text", "text": answer.reasoning}]
            told.extend(_summary(item["id"], answer))
        yield from _item(output, item, told)
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        deltas = [
            _event("response.output_text.delta", item_id="msg_1", output_index=len(output), delta=piece)
            for piece in _pieces(answer.text, answer.piece)
        ]
        yield from _item(
            output, {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}, deltas
        )
    for call in answer.calls:
        item = {
            "type": "function_call",
            "id": f"fc_{call.id}",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
        deltas = [
            _event("response.function_call_arguments.delta", item_id=item["id"], delta=piece)
            for piece in _pieces(call.arguments, answer.piece)
        ]
        yield from _item(output, item, deltas)
    prompt, completion = answer.usage
    ended: dict[str, Any] = {
        "id": "resp_1",
        "status": "completed",
        "output": output,
        "error": None,
        "usage": {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion},
    }
    if answer.finish is not None:
        ended |= {"status": "incomplete", "incomplete_details": {"reason": answer.finish}}
    yield _event(f"response.{ended['status']}", response=ended)


def _summary(item_id: str, answer: Say) -> Iterator[str]:
    place = {"item_id": item_id, "output_index": 0, "summary_index": 0}
    part = {"type": "summary_text", "text": answer.reasoning}
    yield _event("response.reasoning_summary_part.added", **place, part={**part, "text": ""})
    for piece in _pieces(answer.reasoning, answer.piece):
        yield _event("response.reasoning_summary_text.delta", **place, delta=piece)
    yield _event("response.reasoning_summary_text.done", **place, text=answer.reasoning)
    yield _event("response.reasoning_summary_part.done", **place, part=part)


END = ""


def _item(output: list[dict[str, Any]], item: dict[str, Any], deltas: Any) -> Iterator[str]:
    index = len(output)
    yield _event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
    yield from deltas
    done = {**item, "status": "completed"}
    output.append(done)
    yield _event("response.output_item.done", output_index=index, item=done)


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))

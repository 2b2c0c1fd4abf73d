"""The Chat Completions wire as OpenAI documents it: request rules and the frames of an answer."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fermix.testing.servers.openai_strict import rules
from fermix.testing.servers.openai_strict.script import Say

_CALL = rules.fields(
    {
        "id": rules.filled,
        "type": rules.exactly("function"),
        "function": rules.fields({"name": rules.name, "arguments": rules.json_object_text}),
    }
)
_PART = rules.by(
    "type",
    {
        "text": rules.fields({"type": rules.text, "text": rules.filled}),
        "image_url": rules.fields(
            {
                "type": rules.text,
                "image_url": rules.fields(
                    {"url": rules.data_url}, {"detail": rules.exactly("auto", "low", "high")}
                ),
            }
        ),
    },
)


def _content(value: Any, path: str) -> None:
    if not isinstance(value, str):
        rules.items(_PART, at_least=1)(value, path)


_MESSAGE = rules.by(
    "role",
    {
        "system": rules.fields({"role": rules.text, "content": rules.filled}),
        "user": rules.fields({"role": rules.text, "content": _content}),
        "assistant": rules.fields(
            {"role": rules.text},
            {
                "content": rules.filled,
                "tool_calls": rules.items(_CALL, at_least=1),
                "reasoning_content": rules.filled,
            },
        ),
        "tool": rules.fields({"role": rules.text, "tool_call_id": rules.filled, "content": rules.text}),
    },
)
_TOOL = rules.fields(
    {
        "type": rules.exactly("function"),
        "function": rules.fields(
            {"name": rules.name, "parameters": rules.schema},
            {"description": rules.text, "strict": rules.flag},
        ),
    }
)
BODY = rules.fields(
    {
        "model": rules.filled,
        "messages": rules.items(_MESSAGE, at_least=1),
        "stream": rules.exactly(True),
    },
    {
        "stream_options": rules.fields({"include_usage": rules.flag}),
        "tools": rules.items(_TOOL, at_least=1),
        "reasoning_effort": rules.exactly("none", "minimal", "low", "medium", "high", "xhigh"),
        "max_tokens": rules.positive,
        "max_completion_tokens": rules.positive,
        "temperature": rules.number(0, 2),
        "top_p": rules.number(0, 1),
        "frequency_penalty": rules.number(-2, 2),
        "presence_penalty": rules.number(-2, 2),
        "seed": rules.positive,
    },
)


def check(body: Any, reasoned: Mapping[str, str]) -> None:
    """Raise `WrongField` unless `body` is right; `reasoned` maps an earlier answer to its thoughts."""
    BODY(body, "body")
    _check_order(body["messages"])
    for position, message in enumerate(body["messages"]):
        if message["role"] != "assistant":
            continue
        path = f"body.messages[{position}]"
        rules.expect("content" in message or "tool_calls" in message, path, "needs content or tool_calls")
        thoughts = reasoned.get(_key(message.get("content", ""), message.get("tool_calls", [])))
        rules.expect(
            message.get("reasoning_content") == thoughts, path, "reasoning_content must be what was sent"
        )


def _check_order(messages: list[dict[str, Any]]) -> None:
    """Roles alternate as strict chat templates want them, and calls are followed by their results in order."""
    waiting: list[str] = []
    before = ""
    for position, message in enumerate(messages):
        path, role = f"body.messages[{position}]", message["role"]
        if role == "tool":
            rules.expect(
                waiting and message["tool_call_id"] == waiting.pop(0), path, "is no result that was due"
            )
        else:
            rules.expect(not waiting, path, f"results of {waiting} are missing before it")
        rules.expect(role != "system" or position == 0, path, "a system message may only come first")
        rules.expect(
            not (role == "user" and before in {"user", "tool"}), path, f"user may not follow {before}"
        )
        waiting += [call["id"] for call in message.get("tool_calls", ())]
        before = role
    rules.expect(before in {"user", "tool"}, "body.messages", "must end with what is to be answered")


def last_user_text(body: dict[str, Any]) -> str:
    """What the person said last; empty when nobody said anything."""
    said = (message["content"] for message in reversed(body["messages"]) if message["role"] == "user")
    return rules.words_of(next(said, ""))


def remember(answer: Say, reasoned: dict[str, str]) -> None:
    """Note the thoughts of an answer, which must come back with it unchanged."""
    if answer.reasoning:
        reasoned[_key(answer.text, [{"id": call.id} for call in answer.calls])] = answer.reasoning


def _key(content: str, calls: list[Any]) -> str:
    return "|".join([content, *(call["id"] for call in calls)])


def frames(answer: Say, body: dict[str, Any]) -> Iterator[str]:
    """The events of a whole answer, end mark included."""
    yield _chunk({"role": "assistant", "content": None})
    for piece in _pieces(answer.reasoning, answer.piece):
        yield _chunk({"reasoning_content": piece})
    for piece in _pieces(answer.text, answer.piece):
        yield _chunk({"content": piece})
    for index, call in enumerate(answer.calls):
        head = {
            "index": index,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        yield _chunk({"tool_calls": [head]})
        for piece in _pieces(call.arguments, answer.piece):
            yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield _chunk({}, finish=answer.finish or ("tool_calls" if answer.calls else "stop"))
    if body.get("stream_options", {}).get("include_usage"):
        prompt, completion = answer.usage
        yield event(
            {
                "choices": [],
                "usage": {
                    "prompt_tokens": prompt,
                    "completion_tokens": completion,
                    "total_tokens": prompt + completion,
                },
            }
        )
    yield END


END = "data: [DONE]\n\n"


def event(value: Any) -> str:
    """One event of the stream."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return event(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
    )


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))

"""The Chat Completions wire: bodies that servers take, answers put together from any stream."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.model import ModelAnswer, ModelProfile, ModelRequest, ToolCall, Usage
from fermix.domain.failure import FailureKind
from fermix.domain.history import AssistantEntry, CallRecord, HistoryEntry, ToolEntry, UserEntry
from fermix.infrastructure.providers.openai.bounds import Bounds
from fermix.infrastructure.providers.openai.chat_wire import ChatAssembly, request_body
from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError
from fermix.infrastructure.providers.openai.sse import Event, SseDecoder
from fermix.testing.servers.openai_strict import chat
from fermix.testing.servers.openai_strict.script import Call, Say
from tests.unit.infrastructure.providers.openai.cutting import cut

PROFILE = ModelProfile(provider="here", model="m")
JSON_TEXTS = st.dictionaries(st.text(max_size=4), st.integers(), max_size=2).map(json.dumps)


def run(*chunks: Any, bounds: Bounds | None = None) -> tuple[ChatAssembly, str]:
    assembly = ChatAssembly(model="m", bounds=bounds or Bounds())
    shown = ""
    for chunk in chunks:
        shown += assembly.take(Event("", chunk if isinstance(chunk, str) else json.dumps(chunk)))
    return assembly, shown


def said(content: Any = None, *, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content, **delta}, "finish_reason": finish}]}


def body(*entries: HistoryEntry, **options: Any) -> dict[str, Any]:
    request = ModelRequest(system="", entries=(*entries, UserEntry(text="now?")))
    return request_body(request, profile=options.pop("profile", PROFILE), **options)


def refusal(*chunks: Any, bounds: Bounds | None = None) -> FailureKind:
    with pytest.raises(AnswerRefusedError) as caught:
        run(*chunks, bounds=bounds)
    return caught.value.refusal.kind


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    arguments=st.lists(JSON_TEXTS, max_size=3),
    piece=st.integers(1, 9),
    places=st.lists(st.integers(0, 10_000), max_size=20),
)
def test_an_answer_is_the_same_however_it_is_cut(
    text: str, arguments: list[str], piece: int, places: list[int]
) -> None:
    calls = tuple(Call(id=f"c{number}", name="look", arguments=item) for number, item in enumerate(arguments))
    frames = chat.frames(
        Say(text=text, calls=calls, piece=piece), {"stream_options": {"include_usage": True}}
    )
    stream = "".join(frames).encode()
    decoder, assembly, shown = SseDecoder(), ChatAssembly(model="m"), ""
    for piece_of_bytes in cut(stream, places):
        shown += "".join(assembly.take(event) for event in decoder.feed(piece_of_bytes))

    assert assembly.done
    assert shown == text
    assert assembly.answer() == ModelAnswer(
        text=text,
        tool_calls=tuple(
            ToolCall(call_id=call.id, name=call.name, arguments=call.arguments) for call in calls
        ),
        usage=Usage(prompt_tokens=3, completion_tokens=1),
    )


def test_chunks_without_choices_and_null_content_are_no_text() -> None:
    assembly, shown = run(
        {"choices": []},
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]},
        {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}},
        "[DONE]",
    )

    assert shown == "Hi"
    assert assembly.answer() == ModelAnswer(text="Hi", usage=Usage(prompt_tokens=3, completion_tokens=1))


@pytest.mark.parametrize("end", [said(finish="stop"), said(finish="length"), "[DONE]"])
def test_a_finish_reason_or_the_end_mark_finishes_an_answer(end: Any) -> None:
    assembly, _ = run(said("Hi"), end)

    assert assembly.finished


def test_text_alone_finishes_nothing() -> None:
    assembly, _ = run(said("Hi"), {"choices": [], "usage": {"prompt_tokens": 1}})

    assert not assembly.finished


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        ({"error": {"message": "overloaded", "code": 503}}, FailureKind.PROVIDER_FAILED),
        ({"error": {"message": "slow down", "code": 429}}, FailureKind.RATE_LIMITED),
        ({"error": {"message": "too long", "code": "context_length_exceeded"}}, FailureKind.CONTEXT_TOO_LONG),
        ({"choices": [{"error": {"message": "upstream", "code": 502}}]}, FailureKind.PROVIDER_FAILED),
        (said(finish="content_filter"), FailureKind.PROVIDER_FAILED),
        (said(finish="error"), FailureKind.PROVIDER_FAILED),
        ("half a jso", FailureKind.PROVIDER_FAILED),
        ("[" * 100_000, FailureKind.PROVIDER_FAILED),
        ("[1]", FailureKind.PROVIDER_FAILED),
    ],
)
def test_an_error_inside_the_stream_ends_the_answer(chunk: Any, kind: FailureKind) -> None:
    assert refusal(said("The answer is"), chunk) is kind


def test_a_context_that_is_full_before_a_word_is_said_is_too_long() -> None:
    assert refusal(said(finish="model_context_window_exceeded")) is FailureKind.CONTEXT_TOO_LONG
    assembly, shown = run(said("Hi", finish="model_context_window_exceeded"))
    assert (assembly.finished, shown) == (True, "Hi")


def test_an_error_event_needs_no_error_field() -> None:
    with pytest.raises(AnswerRefusedError) as caught:
        ChatAssembly(model="m").take(Event("error", '{"code":500,"message":"out of memory"}'))

    assert "out of memory" in caught.value.refusal.detail


def test_a_refusal_by_the_model_is_shown_as_its_text() -> None:
    _, shown = run(said(None, refusal="I will not."))

    assert shown == "I will not."


def test_of_content_parts_only_the_text_is_shown() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Yes"},
    ]
    _, shown = run(said(parts))

    assert shown == "Yes"


@pytest.mark.parametrize(
    "chunk",
    [
        {},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"delta": None}]},
        {"usage": 3},
    ],
)
def test_odd_chunks_are_passed_over(chunk: Any) -> None:
    assembly, shown = run(chunk, said("Hi", tool_calls=None), said(finish="stop"))

    assert shown == assembly.answer().text == "Hi"


def test_text_reasoning_and_calls_are_bounded() -> None:
    bounds = Bounds(text_chars=10, calls=1)
    call = {"id": "a", "function": {"name": "look", "arguments": "{}"}}

    assert refusal(*[said("12345")] * 3, bounds=bounds) is FailureKind.PROVIDER_FAILED
    assert refusal(*[said(reasoning="12345")] * 3, bounds=bounds) is FailureKind.PROVIDER_FAILED
    assert refusal(said(tool_calls=[call, {**call, "id": "b"}]), bounds=bounds) is FailureKind.PROVIDER_FAILED


def test_reasoning_is_never_text_and_goes_back_unchanged_to_its_maker() -> None:
    assembly, shown = run(
        said(reasoning_content="need "), said(reasoning_content="the file"), said(finish="stop")
    )
    answer = assembly.answer()
    call = CallRecord(call_id="a", name="look", arguments="{}")
    own = AssistantEntry(text="", calls=(call,), provider="here", provider_state=answer.provider_state)
    result = ToolEntry(call_id="a", name="look", text="found")

    assert (shown, answer.text) == ("", "")
    assert body(own, result)["messages"][0]["reasoning_content"] == "need the file"
    assert "content" not in body(own, result)["messages"][0]
    assert "need the file" not in json.dumps(body(own, profile=ModelProfile(provider="other", model="m")))
    assert "need the file" not in json.dumps(body(own, profile=ModelProfile(provider="here", model="n")))


def test_reasoning_details_are_joined_per_block_and_keep_their_signature() -> None:
    assembly, _ = run(
        said(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a", "signature": None}]),
        said(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}]),
        said(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "x"}]),
        said("Hi", finish="stop"),
    )
    state = assembly.answer().provider_state
    (message, *_) = body(AssistantEntry(text="Hi", provider="here", provider_state=state))["messages"]

    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]


def test_numbers_that_json_does_not_know_are_null_when_they_go_back() -> None:
    detail = '{"type":"x","n":NaN,"m":-Infinity,"far":1e999,"near":1.5}'
    thought = '{"choices":[{"delta":{"reasoning_details":[' + detail + "]}}]}"
    assembly, _ = run(thought, said("Hi", finish="stop"))
    state = assembly.answer().provider_state
    (message, *_) = body(AssistantEntry(text="Hi", provider="here", provider_state=state))["messages"]

    assert message["reasoning_details"] == [{"type": "x", "n": None, "m": None, "far": None, "near": 1.5}]


def test_a_state_that_is_damaged_is_not_sent() -> None:
    entry = AssistantEntry(text="Hi", provider="here", provider_state="{broken")

    assert body(entry)["messages"][0] == {"role": "assistant", "content": "Hi"}


def test_extra_fields_win_and_the_limit_has_the_name_its_server_knows() -> None:
    limited = ModelProfile(provider="here", model="m", max_output_tokens=50)
    own = ModelProfile(provider="openai", model="m", max_output_tokens=50)

    assert body(profile=limited, extra={"temperature": 0.3, "max_tokens": 9})["max_tokens"] == 9
    assert body(profile=own)["max_completion_tokens"] == 50
    assert "max_tokens" not in body(profile=own)


def test_usage_is_asked_for_unless_told_otherwise() -> None:
    assert body()["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(usage=False)
    assert "reasoning_effort" not in body()
    assert body(reasoning_effort="low")["reasoning_effort"] == "low"

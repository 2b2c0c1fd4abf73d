"""The Responses wire: bodies that servers take, answers put together from any stream."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.model import ModelAnswer, ModelProfile, ModelRequest, ToolCall, Usage
from fermix.domain.failure import FailureKind
from fermix.domain.history import AssistantEntry, CallRecord, HistoryEntry, ToolEntry, UserEntry
from fermix.infrastructure.providers.openai.bounds import Bounds
from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError
from fermix.infrastructure.providers.openai.responses_wire import ResponsesAssembly, request_body
from fermix.infrastructure.providers.openai.sse import Event, SseDecoder
from fermix.testing.servers.openai_strict import responses
from fermix.testing.servers.openai_strict.script import Call, Say
from tests.unit.infrastructure.providers.openai.cutting import cut

PROFILE = ModelProfile(provider="here", model="m")
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "sealed",
    "status": "completed",
}


def run(*events: dict[str, Any], bounds: Bounds | None = None) -> tuple[ResponsesAssembly, str]:
    assembly = ResponsesAssembly(model="m", bounds=bounds or Bounds())
    return assembly, "".join(assembly.take(Event("", json.dumps(event))) for event in events)


def delta(text: str, item: str = "msg_1") -> dict[str, Any]:
    return {"type": "response.output_text.delta", "item_id": item, "delta": text}


def ended(*output: dict[str, Any], kind: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"status": kind, "output": list(output), **fields}}


def call(call_id: str = "a", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": arguments, **fields}


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def body(*entries: HistoryEntry, **options: Any) -> dict[str, Any]:
    request = ModelRequest(system="", entries=(*entries, UserEntry(text="now?")))
    return request_body(request, profile=options.pop("profile", PROFILE), **options)


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    arguments=st.lists(st.sampled_from(["{}", '{"a": "ü"}']), max_size=3),
    piece=st.integers(1, 9),
    places=st.lists(st.integers(0, 10_000), max_size=20),
)
def test_an_answer_is_the_same_however_it_is_cut(
    text: str, arguments: list[str], piece: int, places: list[int]
) -> None:
    calls = tuple(Call(id=f"c{number}", name="look", arguments=item) for number, item in enumerate(arguments))
    stream = "".join(responses.frames(Say(text=text, calls=calls, piece=piece), {})).encode()
    decoder, assembly, shown = SseDecoder(), ResponsesAssembly(model="m"), ""
    for piece_of_bytes in cut(stream, places):
        shown += "".join(assembly.take(event) for event in decoder.feed(piece_of_bytes))

    assert assembly.done
    assert shown == text
    assert assembly.answer() == ModelAnswer(
        text=text,
        tool_calls=tuple(
            ToolCall(call_id=item.id, name=item.name, arguments=item.arguments) for item in calls
        ),
        usage=Usage(prompt_tokens=3, completion_tokens=1),
    )


def test_texts_of_two_messages_are_parted_and_shown_as_they_are_kept() -> None:
    assembly, shown = run(delta("Looking", "a"), delta(" now.", "a"), delta("Done.", "b"), ended())

    assert shown == assembly.answer().text == "Looking now.\n\nDone."


def test_text_that_was_never_streamed_is_shown_at_the_end() -> None:
    assembly, shown = run(ended(message("Hi"), message("there")))

    assert shown == assembly.answer().text == "Hi\n\nthere"


def test_items_count_as_they_ended_when_the_last_event_leaves_them_out() -> None:
    assembly, _ = run({"type": "response.output_item.done", "item": call()}, ended())

    assert assembly.answer().tool_calls == (ToolCall(call_id="a", name="look", arguments="{}"),)


def test_a_stream_without_its_last_event_is_not_finished() -> None:
    assembly, _ = run(delta("Hi"), {"type": "response.output_item.done", "item": message("Hi")})

    assert not assembly.finished


def test_an_answer_that_hit_its_limit_is_an_answer() -> None:
    assembly, _ = run(
        delta("Hi"), ended(kind="incomplete", incomplete_details={"reason": "max_output_tokens"})
    )

    assert assembly.finished
    assert assembly.answer().text == "Hi"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, FailureKind.RATE_LIMITED),
        ({"type": "error", "error": {"code": "server_error", "message": "x"}}, FailureKind.PROVIDER_FAILED),
        ({"error": {"message": "overloaded", "code": 503}}, FailureKind.PROVIDER_FAILED),
        (
            ended(kind="failed", error={"code": "context_length_exceeded", "message": "too long"}),
            FailureKind.CONTEXT_TOO_LONG,
        ),
        (ended(kind="failed", error=None), FailureKind.PROVIDER_FAILED),
        (
            ended(kind="incomplete", incomplete_details={"reason": "content_filter"}),
            FailureKind.PROVIDER_FAILED,
        ),
        (ended(kind="cancelled"), FailureKind.PROVIDER_FAILED),
        ({}, FailureKind.PROVIDER_FAILED),
    ],
)
def test_an_error_inside_the_stream_ends_the_answer(event: dict[str, Any], kind: FailureKind) -> None:
    with pytest.raises(AnswerRefusedError) as caught:
        run(delta("The answer is"), event)

    assert caught.value.refusal.kind is kind


def test_text_calls_arguments_and_items_are_bounded() -> None:
    bounds = Bounds(text_chars=100, calls=1, argument_chars=5)
    too_much = [
        [delta("x" * 60)] * 2,
        [{"type": "response.output_item.done", "item": call()}] * 5,
        [ended(call("a"), call("b"))],
        [ended(call(arguments="123456"))],
        [ended({**REASONING, "encrypted_content": "x" * 200})],
    ]
    for events in too_much:
        with pytest.raises(AnswerRefusedError):
            run(*events, bounds=bounds)[0].answer()


def test_a_call_without_name_is_refused_and_one_without_id_gets_one() -> None:
    assert run(ended(call(""), call("b")))[0].answer().tool_calls[0].call_id == "call00001"
    with pytest.raises(AnswerRefusedError):
        run(ended(call(name="")))[0].answer()


def test_sealed_reasoning_goes_back_in_its_place_and_only_to_its_maker() -> None:
    answer = run(ended(REASONING, call("a"), {**REASONING, "id": "rs_2"}, call("b")))[0].answer()
    entry = AssistantEntry(
        text=answer.text,
        calls=tuple(CallRecord(call_id=c.call_id, name=c.name, arguments="{}") for c in answer.tool_calls),
        provider="here",
        provider_state=answer.provider_state,
    )
    results = [ToolEntry(call_id=name, name="look", text="found") for name in "ab"]
    sent = body(entry, *results)["input"]

    assert [item["type"] for item in sent[:4]] == ["reasoning", "function_call"] * 2
    assert sent[0] == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
    assert "sealed" not in json.dumps(body(entry, profile=ModelProfile(provider="other", model="m")))
    assert "sealed" not in json.dumps(body(entry, profile=ModelProfile(provider="here", model="n")))


def test_reasoning_without_sealed_content_is_not_kept() -> None:
    answer = run(ended({"type": "reasoning", "id": "rs_1", "summary": []}, call()))[0].answer()

    assert answer.provider_state is None


def test_reasoning_whose_answer_was_emptied_is_left_out() -> None:
    state = json.dumps({"model": "m", "order": [REASONING, "message", "call:gone"]})
    call_record = CallRecord(call_id="a", name="look", arguments="{}")
    spoken = body(AssistantEntry(text="Hi", provider="here", provider_state=state))["input"]
    other = json.dumps({"model": "m", "order": ["message", REASONING, "call:gone"]})
    cut_off = body(AssistantEntry(text="Hi", provider="here", provider_state=other))["input"]
    led_on = body(AssistantEntry(text="", calls=(call_record,), provider="here", provider_state=other))[
        "input"
    ]

    assert [item["type"] for item in spoken] == ["reasoning", "message", "message"]
    assert [item["type"] for item in cut_off] == ["message", "message"]
    assert [item["type"] for item in led_on][:2] == ["reasoning", "function_call"]


def test_nothing_is_stored_and_no_temperature_is_sent() -> None:
    sent = body(extra={"temperature": 0.2, "metadata": {"a": "b"}})

    assert sent["store"] is False
    assert "temperature" not in sent
    assert sent["metadata"] == {"a": "b"}


@pytest.mark.parametrize(("effort", "asked"), [(None, False), ("none", False), ("high", True)])
def test_sealed_reasoning_is_asked_for_when_an_effort_is_set(effort: str | None, asked: bool) -> None:
    assert ("include" in body(reasoning_effort=effort)) is asked

"""Histories as the wires take them: each call followed by its result, whatever was stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.model import ModelProfile, ModelRequest, ToolDefinition
from fermix.domain.history import (
    AssistantEntry,
    CallRecord,
    HistoryEntry,
    MarkerEntry,
    ToolEntry,
    UserEntry,
)
from fermix.infrastructure.providers.openai import chat_wire, responses_wire
from fermix.infrastructure.providers.openai.conversation import NO_RESULT, Answered, Said, steps
from tests.servers.openai_strict import chat, responses

IDS = st.sampled_from(["a", "b", "call_1", "x" * 80])
TEXTS = st.text(max_size=20)
CALLS = st.lists(
    st.builds(CallRecord, call_id=IDS, name=TEXTS, arguments=st.sampled_from(["{}", '{"a":1}'])),
    max_size=3,
    unique_by=lambda call: call.call_id,
)
ENTRIES = st.lists(
    st.one_of(
        st.builds(UserEntry, text=TEXTS),
        st.builds(MarkerEntry, text=TEXTS),
        st.builds(ToolEntry, call_id=IDS, name=TEXTS, text=TEXTS),
        st.builds(
            AssistantEntry,
            text=TEXTS,
            calls=CALLS.map(tuple),
            provider=st.sampled_from(["here", "elsewhere", None]),
            provider_state=st.sampled_from([None, "", "garbage", '{"model":"m","order":["message",3]}']),
        ),
    ),
    max_size=12,
)


def request(entries: list[HistoryEntry]) -> ModelRequest:
    tool = ToolDefinition(name="look", description="looks", parameters={"type": "object", "properties": {}})
    return ModelRequest(system="Be kind.", entries=(*entries, UserEntry(text="What now?")), tools=(tool,))


@given(ENTRIES, st.booleans())
def test_every_history_becomes_a_chat_request_that_a_strict_server_takes(
    entries: list[HistoryEntry], tools: bool
) -> None:
    profile = ModelProfile(provider="here", model="m", tools=tools)

    chat.check(chat_wire.request_body(request(entries), profile=profile), {})


@given(ENTRIES, st.booleans())
def test_every_history_becomes_a_responses_request_that_a_strict_server_takes(
    entries: list[HistoryEntry], tools: bool
) -> None:
    profile = ModelProfile(provider="here", model="m", tools=tools)

    responses.check(responses_wire.request_body(request(entries), profile=profile), {})


@given(ENTRIES)
def test_no_word_of_the_user_is_lost(entries: list[HistoryEntry]) -> None:
    said = "\n\n".join(
        step.text for step in steps(entries, provider="here", tools=True) if isinstance(step, Said)
    )

    assert all(entry.text in said for entry in entries if isinstance(entry, UserEntry | MarkerEntry))


def test_a_call_whose_result_was_never_stored_gets_one_that_says_so() -> None:
    call = CallRecord(call_id="a", name="look", arguments="{}")
    (step,) = steps([AssistantEntry(text="", calls=(call,))], provider="here", tools=True)

    assert isinstance(step, Answered)
    assert step.results[0].text == NO_RESULT


def test_a_result_without_its_call_is_left_out() -> None:
    assert steps([ToolEntry(call_id="a", name="look", text="x")], provider="here", tools=True) == []


def test_results_follow_in_the_order_of_the_calls() -> None:
    calls = tuple(CallRecord(call_id=name, name="look", arguments="{}") for name in "ab")
    results = [ToolEntry(call_id=name, name="look", text=name) for name in "ba"]
    (step,) = steps(
        [AssistantEntry(text="", calls=calls, provider="here"), *results], provider="here", tools=True
    )

    assert isinstance(step, Answered)
    assert [result.text for result in step.results] == ["a", "b"]


@pytest.mark.parametrize(("provider", "kept"), [("here", True), ("elsewhere", False), (None, False)])
def test_state_and_ids_go_back_only_to_the_provider_that_made_them(provider: str | None, kept: bool) -> None:
    call = CallRecord(call_id="toolu_0123456789", name="look", arguments="{}")
    entry = AssistantEntry(text="t", calls=(call,), provider=provider, provider_state="s")
    (step,) = steps([entry], provider="here", tools=True)

    assert isinstance(step, Answered)
    assert (step.provider_state == "s") is kept
    assert (step.calls[0].call_id == call.call_id) is kept
    assert step.results[0].call_id == step.calls[0].call_id


def test_a_note_is_told_apart_from_what_the_user_wrote() -> None:
    (step,) = steps([MarkerEntry(text="stopped"), UserEntry(text="go on")], provider="here", tools=True)

    assert step == Said("[Note by the system, not written by the user: stopped]\n\ngo on")


def test_half_of_a_surrogate_pair_is_replaced_so_that_the_request_can_be_sent() -> None:
    (step,) = steps([UserEntry(text="a\ud83db 🎉")], provider="here", tools=True)

    assert step == Said("a\ufffdb 🎉")

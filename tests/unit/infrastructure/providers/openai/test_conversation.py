"""Histories as the wires take them: each call followed by its result, whatever was stored."""

from itertools import pairwise

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
from fermix.infrastructure.providers.openai.conversation import (
    NO_RESULT,
    NOT_SHOWN,
    Answered,
    Said,
    Shown,
    steps,
)
from fermix.testing.sample_pictures import as_picture, png
from fermix.testing.servers.openai_strict import chat, responses

IDS = st.sampled_from(["a", "b", "call_1", "x" * 80])
TEXTS = st.text(max_size=20)
CALLS = st.lists(
    st.builds(CallRecord, call_id=IDS, name=TEXTS, arguments=st.sampled_from(["{}", '{"a":1}'])),
    max_size=3,
    unique_by=lambda call: call.call_id,
)
FILES = [png(shade, 0, 0) for shade in range(4)]
SEEN = [as_picture(content) for content in FILES]
HIDDEN = SEEN[3]
SHOWN = {picture.content.digest: content for picture, content in zip(SEEN[:3], FILES, strict=False)}
ENTRIES = st.lists(
    st.one_of(
        st.builds(UserEntry, text=TEXTS, pictures=st.lists(st.sampled_from(SEEN), max_size=2).map(tuple)),
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
    asked = (*entries, UserEntry(text="What now?"))
    return ModelRequest(system="Be kind.", entries=asked, tools=(tool,), pictures=SHOWN)


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
        step.text or "" for step in steps(entries, provider="here", tools=True) if isinstance(step, Said)
    )

    texts = [entry.text for entry in entries if isinstance(entry, UserEntry | MarkerEntry)]
    assert all(text in said for text in texts if text.strip())


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

    assert step == Said(("[Note by the system, not written by the user: stopped]\n\ngo on",))


def test_half_of_a_surrogate_pair_is_replaced_so_that_the_request_can_be_sent() -> None:
    (step,) = steps([UserEntry(text="a\ud83db 🎉")], provider="here", tools=True)

    assert step == Said(("a\ufffdb 🎉",))


@given(ENTRIES)
def test_pictures_that_are_shown_stand_in_their_order_and_the_others_are_mentioned(
    entries: list[HistoryEntry],
) -> None:
    said = [
        step for step in steps(entries, provider="here", tools=True, pictures=SHOWN) if isinstance(step, Said)
    ]
    brought = [picture for entry in entries if isinstance(entry, UserEntry) for picture in entry.pictures]
    shown = [part.content for step in said for part in step.parts if isinstance(part, Shown)]
    assert shown == [SHOWN[each.content.digest] for each in brought if each != HIDDEN]
    texts = [part for step in said for part in step.parts if isinstance(part, str)]
    assert sum(text.count(NOT_SHOWN) for text in texts) == brought.count(HIDDEN)


@given(ENTRIES)
def test_no_two_texts_stand_side_by_side_and_none_is_blank_beside_a_picture(
    entries: list[HistoryEntry],
) -> None:
    for step in steps(entries, provider="here", tools=True, pictures=SHOWN):
        if isinstance(step, Said):
            kinds = [type(part) for part in step.parts]
            assert (str, str) not in pairwise(kinds)
            blank = any(isinstance(part, str) and not part.strip() for part in step.parts)
            assert not (blank and len(step.parts) > 1)

"""Thoughts in the streams of both wires: told whole, once, within bounds, and never as text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.model import MAX_THOUGHT
from fermix.infrastructure.providers.openai.chat_wire import ChatAssembly
from fermix.infrastructure.providers.openai.inquiry import Assembly
from fermix.infrastructure.providers.openai.responses_wire import ResponsesAssembly
from fermix.infrastructure.providers.openai.sse import Event
from fermix.infrastructure.providers.openai.thoughts import MOST, Thoughts


def told(assembly: Assembly, *events: dict[str, Any]) -> list[tuple[str, str]]:
    """What a listener hears of these events, in order."""
    heard: list[tuple[str, str]] = []
    for event in events:
        text = assembly.take(Event("", json.dumps(event)))
        heard += [("thought", thought) for thought in assembly.thoughts()]
        heard += [("text", text)] if text else []
    return heard


def chat(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def summary(kind: str, item: str = "r", place: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "type": f"response.reasoning_summary_text.{kind}",
        "item_id": item,
        "summary_index": place,
        **fields,
    }


def reasoning_item(*summaries: str) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summaries]
    return {"type": "response.output_item.done", "item": {"type": "reasoning", "id": "r", "summary": parts}}


WORDS = {"type": "response.output_text.delta", "item_id": "m", "delta": "Yes."}


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_thought_of_chat_completions_is_whole_when_words_follow(name: str) -> None:
    heard = told(ChatAssembly(model="m"), chat(**{name: "**Hm"}), chat(**{name: "m**"}), chat(content="Yes."))
    assert heard == [("thought", "**Hmm**"), ("text", "Yes.")]


def test_a_server_that_uses_both_names_is_heard_once() -> None:
    heard = told(ChatAssembly(model="m"), chat(reasoning_content="Hm", reasoning="Hm"), chat(content="Yes."))
    assert heard == [("thought", "Hm"), ("text", "Yes.")]


def test_a_call_and_the_end_of_an_answer_end_a_thought_too() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}
    heard = told(
        ChatAssembly(model="m"),
        chat(reasoning="I must look."),
        chat(tool_calls=[call]),
        chat(reasoning="That is all."),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    )
    assert heard == [("thought", "I must look."), ("thought", "That is all.")]


def test_a_summary_is_told_once_though_the_server_repeats_it() -> None:
    heard = told(
        ResponsesAssembly(model="m"),
        summary("delta", delta="**Lo"),
        summary("delta", delta="oking**"),
        summary("done", text="**Looking**"),
        summary("delta", place=1, delta="**Done**"),
        summary("done", place=1, text="**Done**"),
        reasoning_item("**Looking**", "**Done**"),
        WORDS,
    )
    assert heard == [("thought", "**Looking**"), ("thought", "**Done**"), ("text", "Yes.")]


def test_a_server_that_sends_only_whole_items_tells_its_summaries_too() -> None:
    heard = told(ResponsesAssembly(model="m"), reasoning_item("**One**", "**Two**"), WORDS)
    assert heard == [("thought", "**One**"), ("thought", "**Two**"), ("text", "Yes.")]


def test_pieces_without_an_end_are_whole_when_words_follow() -> None:
    heard = told(ResponsesAssembly(model="m"), summary("delta", delta="Hm"), WORDS)
    assert heard == [("thought", "Hm"), ("text", "Yes.")]


def test_open_reasoning_is_a_thought_like_a_summary() -> None:
    place = {"item_id": "r", "content_index": 0}
    heard = told(
        ResponsesAssembly(model="m"),
        {"type": "response.reasoning_text.delta", **place, "delta": "Hm"},
        {"type": "response.reasoning_text.done", **place, "text": "Hm"},
        WORDS,
    )
    assert heard == [("thought", "Hm"), ("text", "Yes.")]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "response.reasoning_summary_text.delta", "delta": 7},
        {"type": "response.reasoning_summary_text.done", "text": None, "summary_index": "x", "item_id": []},
        {"type": "response.output_item.done", "item": {"type": "reasoning", "id": {}, "summary": "no list"}},
        {
            "type": "response.output_item.done",
            "item": {"type": "reasoning", "summary": [None, 3, {"text": 4}]},
        },
    ],
)
def test_odd_thoughts_are_none(odd: dict[str, Any]) -> None:
    assert told(ResponsesAssembly(model="m"), odd, WORDS) == [("text", "Yes.")]


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.text(max_size=MAX_THOUGHT // 4), st.booleans()),
        max_size=60,
    )
)
def test_each_thought_is_the_front_of_its_pieces_and_is_told_once(
    steps: list[tuple[int, str, bool]],
) -> None:
    thoughts, pieces, ended, heard = Thoughts(), dict[int, str](), list[str](), list[str]()
    done = set[int]()
    for name, piece, ends in steps:
        thoughts.add(name, piece)
        if name not in done:
            pieces[name] = pieces.get(name, "") + piece
        if ends:
            thoughts.end(name)
            if name not in done:
                done.add(name)
                ended.append(pieces.get(name, "")[:MAX_THOUGHT].strip())
        heard += thoughts.told()
    assert heard == [thought for thought in ended if thought]


def test_a_model_that_thinks_without_end_takes_no_more_memory() -> None:
    thoughts = Thoughts()
    for number in range(3 * MOST):
        thoughts.add(number, "x" * 10)
        thoughts.add(number, "y" * 2 * MAX_THOUGHT)
        thoughts.end(number)
    heard = thoughts.told()
    assert len(heard) == MOST
    assert {len(thought) for thought in heard} == {MAX_THOUGHT}

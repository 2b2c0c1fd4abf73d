"""Which streamed fragment belongs to which tool call."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.providers.openai.bounds import Bounds
from fermix.infrastructure.providers.openai.refusal import AnswerRefusedError
from fermix.infrastructure.providers.openai.tool_deltas import ToolDeltas

NO_INDEX = object()


def fragment(
    arguments: Any = "", *, index: object = NO_INDEX, call_id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    out: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not NO_INDEX:
        out["index"] = index
    if call_id is not None:
        out["id"] = call_id
    return out


def collect(*fragments: dict[str, Any], bounds: Bounds | None = None) -> list[tuple[str, str, str]]:
    deltas = ToolDeltas(bounds or Bounds())
    for item in fragments:
        deltas.add(item)
    return [(call.call_id, call.name, call.arguments) for call in deltas.calls()]


TWO = [("call_a", "T", '{"path":"a"}'), ("call_b", "T", '{"path":"b"}')]


@pytest.mark.parametrize("index", [0, NO_INDEX])
def test_a_new_id_starts_a_new_call_whatever_the_index(index: object) -> None:
    first = fragment('{"path":"a"}', index=index, call_id="call_a", name="T")
    second = fragment('{"path":"b"}', index=index, call_id="call_b", name="T")

    assert collect(first, second) == TWO


def test_fragments_of_two_calls_may_be_mixed() -> None:
    assert (
        collect(
            fragment(index=1, call_id="call_a", name="T"),
            fragment(index=2, call_id="call_b", name="T"),
            fragment('{"path":', index=2),
            fragment('{"path":', index=1),
            fragment('"a"}', index=1),
            fragment('"b"}', index=2),
        )
        == TWO
    )


def test_a_known_id_belongs_to_its_call_even_under_another_index() -> None:
    assert collect(
        fragment('{"a"', index=0, call_id="x", name="T"), fragment(":1}", index=5, call_id="x")
    ) == [("x", "T", '{"a":1}')]


def test_an_id_that_comes_late_joins_the_call_at_its_place() -> None:
    assert collect(fragment("{", index=0, name="T"), fragment("}", index=0, call_id="late")) == [
        ("late", "T", "{}")
    ]


def test_calls_without_any_id_get_stable_ids_of_nine_letters_and_digits() -> None:
    assert collect(fragment("{}", index=0, name="T"), fragment("{}", index=1, name="U")) == [
        ("call00001", "T", "{}"),
        ("call00002", "U", "{}"),
    ]


def test_a_made_up_id_is_never_one_that_the_server_used() -> None:
    ids = [
        call_id
        for call_id, _, _ in collect(
            fragment("{}", index=0, name="T"), fragment("{}", index=1, name="T", call_id="call00001")
        )
    ]

    assert ids == ["call00002", "call00001"]


def test_whole_calls_without_id_and_with_one_index_are_two_calls() -> None:
    pieces = [fragment('{"a":1}', index=0, name="T"), fragment('{"a":2}', index=0, name="T")]

    assert [arguments for _, _, arguments in collect(*pieces)] == ['{"a":1}', '{"a":2}']


def test_a_name_repeated_with_every_piece_is_still_one_call() -> None:
    assert collect(fragment('{"a"', index=0, call_id="x", name="T"), fragment(":1}", index=0, name="T")) == [
        ("x", "T", '{"a":1}')
    ]


def test_an_empty_last_fragment_invents_no_call() -> None:
    assert (
        len(collect(fragment("{}", index=0, call_id="x", name="T"), fragment("", index=0), {}, {"index": 1}))
        == 1
    )


def test_arguments_sent_as_an_object_become_its_text() -> None:
    assert collect(fragment({"a": 1}, call_id="x", name="T")) == [("x", "T", '{"a": 1}')]


def test_a_call_without_a_name_is_refused() -> None:
    with pytest.raises(AnswerRefusedError):
        collect(fragment("{}", call_id="x"))


def test_too_many_calls_and_too_long_arguments_are_refused() -> None:
    bounds = Bounds(calls=2, argument_chars=10)
    with pytest.raises(AnswerRefusedError):
        collect(*(fragment("{}", call_id=str(n), name="T") for n in range(3)), bounds=bounds)
    with pytest.raises(AnswerRefusedError):
        collect(*(fragment("12345", index=0, call_id="x", name="T") for _ in range(3)), bounds=bounds)


@given(
    st.lists(
        st.tuples(st.sampled_from("TUV"), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)),
        max_size=4,
    ),
    st.integers(1, 7),
    st.sampled_from(["index", "zero", "none"]),
)
def test_calls_with_ids_come_out_as_they_went_in(
    calls: list[tuple[str, dict[str, int]]], size: int, numbering: str
) -> None:
    fragments: list[dict[str, Any]] = []
    for number, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        index = {"index": number, "zero": 0, "none": NO_INDEX}[numbering]
        fragments.append(fragment(index=index, call_id=f"id{number}", name=name))
        fragments += [
            fragment(text[start : start + size], index=index) for start in range(0, len(text), size)
        ]

    assert collect(*fragments) == [
        (f"id{number}", name, json.dumps(arguments)) for number, (name, arguments) in enumerate(calls)
    ]

"""An agent that repeats itself is noticed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.loop_detection import KILL_AT, WARN_AT, LoopDetector, LoopVerdict, canonical
from tests.unit.domain import samples

calls = st.tuples(
    st.sampled_from(["read", "list"]), st.sampled_from(['{"a":1}', '{ "a": 1 }', "{}", "", "no"])
)
objects = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=4,
    ),
    max_size=4,
)


def verdicts(*sequence: tuple[str, str]) -> list[LoopVerdict]:
    detector = LoopDetector()
    return [detector.observe(name, arguments) for name, arguments in sequence]


@pytest.mark.requirement("turn.bounds.repeated_calls")
def test_the_third_equal_call_in_a_row_warns_and_the_fifth_ends_the_turn() -> None:
    assert (WARN_AT, KILL_AT) == (3, 5)
    fine, warn, kill = LoopVerdict.FINE, LoopVerdict.WARN, LoopVerdict.KILL
    assert verdicts(*[("read", "{}")] * 6) == [fine, fine, warn, warn, kill, kill]


def test_another_call_in_between_starts_the_count_anew() -> None:
    four, other = [("read", "{}")] * 4, ("list", "{}")
    assert LoopVerdict.KILL not in verdicts(*four, other, *four, other, *four)


def test_two_calls_in_turn_are_no_loop() -> None:
    assert set(verdicts(*[("read", "{}"), ("list", "{}")] * 20)) == {LoopVerdict.FINE}


@given(sequence=st.lists(calls, max_size=30))
def test_only_equal_calls_in_a_row_count(sequence: list[tuple[str, str]]) -> None:
    keys = [canonical(*call) for call in sequence]
    for i, verdict in enumerate(verdicts(*sequence)):
        run = next(n for n in range(1, i + 2) if n > i or keys[i - n] != keys[i])
        expected = LoopVerdict.KILL if run >= 5 else LoopVerdict.WARN if run >= 3 else LoopVerdict.FINE
        assert verdict is expected


@given(value=objects, seed=st.randoms(use_true_random=False))
def test_order_of_keys_and_white_space_make_no_other_call(value: dict[str, object], seed: object) -> None:
    shuffled = dict(reversed(list(value.items())))
    assert canonical("read", json.dumps(value)) == canonical("read", json.dumps(shuffled, indent=2))


@given(first=objects, second=objects)
def test_other_arguments_make_another_call(first: dict[str, object], second: dict[str, object]) -> None:
    one, other = json.dumps(first, sort_keys=True), json.dumps(second, sort_keys=True)
    assert (canonical("read", one) == canonical("read", other)) == (one == other)


def test_a_call_without_arguments_equals_one_with_an_empty_object() -> None:
    assert canonical("read", "") == canonical("read", "{}")


@given(arguments=samples.any_text)
def test_arguments_that_are_not_json_are_compared_as_they_are(arguments: str) -> None:
    assert canonical("read", arguments) == canonical("read", arguments)


@pytest.mark.parametrize("arguments", ["[" * 200_000, '{"a":' * 200_000, "1" * 5000, "NaN", "{", "\ud800"])
def test_no_arguments_a_model_can_write_end_the_process(arguments: str) -> None:
    assert verdicts(*[("read", arguments)] * 5)[-1] is LoopVerdict.KILL


def test_a_tools_name_never_runs_into_its_arguments() -> None:
    assert canonical("read x", "{}") != canonical("read", "x {}")

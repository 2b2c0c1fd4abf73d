"""The measures by which the local model's prompt and sampling were chosen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.local_model.__main__ import read_requests
from benchmarks.local_model.measures import Answer, Expectation, judge

ANY = Expectation(keywords=(), max_words=1_000)


def missed(text: str, *, ended: bool = True, expected: Expectation = ANY) -> tuple[str, ...]:
    return judge(Answer(text=text, ended=ended, tokens=1), expected).missed()


@pytest.mark.parametrize(
    ("text", "measures"),
    [
        ("The capital of France is Paris.", ()),
        ("Paris.", ()),
        ("", ("said something", "right length")),
        ("?!", ("said something", "right length")),
        ("I like red apples. I like red apples.", ("no repetition",)),
        ("a good one for you, a good one for you and a good one for you", ("no repetition",)),
        ("Das ist leider keine gute Antwort auf unsere Frage", ("right language",)),
        ("今天天气很好", ("right language",)),
    ],
)
def test_each_measure_is_what_a_reader_sees(text: str, measures: tuple[str, ...]) -> None:
    assert missed(text) == measures


def test_an_answer_that_was_cut_off_did_not_end_by_itself() -> None:
    assert missed("The sea is blue and", ended=False) == ("ended by itself",)


def test_length_and_subject_are_the_requests_own() -> None:
    expected = Expectation(keywords=("paris", "france|french"), max_words=5)

    assert missed("Paris, in France.", expected=expected) == ()
    assert missed("It is Paris.", expected=expected) == ("on the subject",)
    assert missed("It is the city of Paris in France.", expected=expected) == ("right length",)


@given(st.text(max_size=400), st.booleans())
def test_any_text_can_be_judged(text: str, ended: bool) -> None:
    assert set(missed(text, ended=ended)) <= {
        "said something",
        "ended by itself",
        "no repetition",
        "right length",
        "right language",
    }


def test_there_are_twenty_different_requests_and_some_refer_back() -> None:
    requests = read_requests()

    assert len({request.name for request in requests}) == len(requests) == 20
    assert any(len(request.turns) > 1 for request in requests)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.workspace import PathProblem, PathRefused, StopReason
from fermix.infrastructure.tools.answers import MAX_ANSWER_BYTES, listing, one_line, quoted, refused, stopped


@pytest.mark.parametrize("reason", list(PathProblem))
def test_every_problem_has_a_sentence_about_its_path(reason: PathProblem) -> None:
    text = refused(PathRefused("a.txt", reason))

    assert text.startswith('"a.txt" ')
    assert text.endswith(".")


@pytest.mark.parametrize("reason", list(StopReason))
def test_every_limit_has_a_note(reason: StopReason) -> None:
    assert stopped(reason).startswith("[The search ended early: ")


@given(name=st.text(max_size=400))
def test_a_name_never_begins_a_line_of_its_own(name: str) -> None:
    assert len(one_line(name).splitlines()) <= 1
    assert len(quoted(name).splitlines()) == 1


def test_a_long_list_ends_with_the_last_line_that_fits_and_says_so() -> None:
    text = listing(["x" * 1023] * 200)

    assert text.count("x" * 1023) == 100
    assert len(text) < MAX_ANSWER_BYTES + 200
    assert text.endswith(stopped(StopReason.MATCHES))


def test_notes_stand_once_at_the_end() -> None:
    assert listing(["a", "b"], "[n]", "[n]") == "a\nb\n[n]"

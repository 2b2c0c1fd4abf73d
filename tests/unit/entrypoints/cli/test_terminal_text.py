"""What reaches a terminal cannot steer it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.terminal_text import visible

any_text = st.text(st.characters(exclude_categories=()))
BIDI_CLASSES = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(any_text)
def test_no_control_and_no_direction_character_survives(text: str) -> None:
    for char in visible(text):
        assert char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(char) not in BIDI_CLASSES


@given(any_text, any_text)
def test_pieces_of_a_stream_may_be_shown_one_by_one(one: str, other: str) -> None:
    assert visible(one) + visible(other) == visible(one + other)


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"]) | st.sampled_from("\n\t")))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(any_text)
def test_what_is_shown_can_be_written_as_utf_8(text: str) -> None:
    visible(text).encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]52;c;cm0=\x07", "\\x1b]52;c;cm0=\\x07"),
        ("over\rwritten", "over\\x0dwritten"),
        ("back\x08space \x7f \x00", "back\\x08space \\x7f \\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("half \ud83d", "half \\ud83d"),
        ("one\ttwo\nthree ü 😀 e\u0301 👩\u200d👧", "one\ttwo\nthree ü 😀 e\u0301 👩\u200d👧"),
    ],
)
def test_escapes_are_readable(text: str, shown: str) -> None:
    assert visible(text) == shown

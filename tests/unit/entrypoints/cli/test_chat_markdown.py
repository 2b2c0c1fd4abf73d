"""Markdown on a terminal: nothing in it steers the terminal, nothing is lost, blocks are cut where they end."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fermix.entrypoints.cli.chat.markdown import (
    BlockDrawing,
    is_between_blocks,
    last_block_line,
    last_item_line,
)
from fermix.entrypoints.cli.terminal_text import visible

COLOURS = {"TERM": "xterm-256color"}
STYLE = re.compile(r"\x1b\[[0-9;]*m")

marks = st.one_of(
    st.sampled_from(["# ", "## ", "- ", "1. ", "> ", "    ", "\n", "\n\n", "\t", "word", "other", "\\", "|"]),
    st.sampled_from(["```", "```python", "*", "**", "_", "`", "~~", "---", "[a](b)", "![p](q)", "<b>"]),
    st.sampled_from(["&#x202e;", "&#27;", "&amp;", "\u3042", "\U0001f600", "\u0301", "\u2028"]),
    st.sampled_from(["\na | b\n---|---\nc | d\n", "<!-- c -->", "[x]: /y", "x\n===\n"]),
)
soup = st.lists(marks, max_size=30).map("".join)
words = st.lists(st.sampled_from(["\n", "\n\n", "- ", "> ", "1. ", "**", "`", "# ", "<i>", "w"]), max_size=30)


def drawn(text: str, columns: int = 40) -> str:
    return BlockDrawing(COLOURS).draw(visible(text), columns=columns)


def plain(text: str, columns: int = 40) -> str:
    return STYLE.sub("", drawn(text, columns))


@settings(max_examples=150, deadline=None)
@given(soup, st.integers(10, 90))
def test_whatever_is_drawn_holds_only_styles(text: str, columns: int) -> None:
    shown = plain(text, columns)
    assert visible(shown) == shown
    assert shown == "" or shown.endswith("\n")


@settings(max_examples=100, deadline=None)
@given(words, st.integers(20, 60))
def test_no_word_is_lost(pieces: list[str], columns: int) -> None:
    numbered = "".join(f"w{n} " if piece == "w" else piece for n, piece in enumerate(pieces))
    assume("```" not in numbered)  # what follows these names a language, which is not shown
    said = re.findall(r"w\d+", numbered)
    assert re.findall(r"w\d+", plain(numbered, columns)) == said


def test_what_an_entity_stands_for_is_shown_and_not_obeyed() -> None:
    assert plain("a&#x202e;b") == "a\\u202eb\n"
    assert "\x1b" not in plain("&#27;[2J &#155;2J")


def test_a_link_is_text_with_its_address_and_no_hidden_one() -> None:
    assert plain("[click](http://evil.example)") == "click (http://evil.example)\n"
    assert "\x1b]" not in drawn("[click](http://evil.example) <http://a.example>")


def test_html_is_shown_as_it_stands() -> None:
    assert plain("<div>\nhello\n</div>") == "<div>\nhello\n</div>\n"


def test_a_line_break_is_one() -> None:
    assert plain("one\ntwo") == "one\ntwo\n"


def test_code_begins_in_the_first_column_and_has_no_blanks_at_its_end() -> None:
    assert plain("```python\nif x:\n    y = 1\n```") == "if x:\n    y = 1\n"


def test_nothing_is_wider_than_a_narrow_terminal() -> None:
    text = f"# {'head ' * 20}\n\n{'word ' * 40}\n\n- {'item ' * 20}\n\n> {'said ' * 20}\n\n```\n{'x' * 100}\n```\n"
    assert max(len(line) for line in plain(text, 40).splitlines()) <= 40


def test_blocks_nested_deeper_than_a_terminal_is_wide_are_shown_as_they_came() -> None:
    text = "> " * 30 + "deep"
    assert plain(text, 40) == f"{text}\n"


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_there_are_none(variables: dict[str, str]) -> None:
    text = "# T\n\n`code` [l](u)\n\n```python\nx = 1\n```\n\n| a |\n|---|\n| 1 |"
    styles = STYLE.findall(BlockDrawing({**COLOURS, **variables}).draw(text, columns=40))
    assert {number for style in styles for number in re.findall(r"\d+", style)} <= {
        "0",
        "1",
        "2",
        "3",
        "4",
        "7",
        "9",
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\ntwo\n", 0),
        ("one\n\ntwo\n", 2),
        ("one\n- item\n", 1),
        ("- a\n\n- b\n", 0),
        ("- a\n\nend\n", 2),
        ("```\n\n# x\n\ny\n", 0),
        ("```\nx\n```\nend\n", 3),
        ("a | b\n--|--\n1 | 2\n\nend\n", 4),
        ("> a\nlazy\n", 0),
        ("", 0),
    ],
)
def test_a_block_is_finished_when_another_one_begins(text: str, line: int) -> None:
    assert last_block_line(text) == line


@settings(max_examples=150, deadline=None)
@given(st.lists(marks, max_size=12).map("".join), st.lists(marks, max_size=6).map("".join))
def test_a_finished_block_stays_finished(text: str, more: str) -> None:
    text += "\n"
    line = last_block_line(text)
    if line:
        assert last_block_line(text + more) >= line


@pytest.mark.parametrize(
    ("text", "line"),
    [("- a\n- b\n", 1), ("1. a\n\n   more\n\n2. b\n", 4), ("- a\n", 0), ("text\n", 0), ("- a\n\nx\n", 0)],
)
def test_a_long_list_can_be_cut_before_its_last_item(text: str, line: int) -> None:
    assert last_item_line(text) == line


def test_a_list_goes_on_counting_where_it_was_cut() -> None:
    assert plain("7. seven\n8. eight") == " 7 seven\n 8 eight\n"


@pytest.mark.parametrize(
    ("text", "between"),
    [
        ("one\n\n", True),
        ("- a\n\n", True),
        ("```\ncode\n\n", False),
        ("```\ncode\n```\n\n", True),
        ("", True),
    ],
)
def test_it_is_known_whether_a_new_block_can_begin(text: str, between: bool) -> None:
    assert is_between_blocks(text) is between

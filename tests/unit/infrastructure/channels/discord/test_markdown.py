"""The agent's Markdown as Discord shows it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.channels.discord.markdown import render
from fermix.infrastructure.channels.discord.wire_out import MAX_TEXT, edit, message, words

PIECES = st.sampled_from(
    [
        "# a",
        "#### b",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```\nx | y\n```",
        "**b**",
        "@everyone",
        "<@&1>",
        "> q",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=40), max_size=12).map("\n".join)


def test_a_table_becomes_a_block_of_aligned_lines() -> None:
    text = "before\n\n| a | long |\n|---|---|\n| 1 | `2` |\n\nafter"
    assert render(text) == "before\n\n```\na | long\n--+-----\n1 | 2\n```\n\nafter"


def test_a_low_heading_becomes_a_bold_line_and_a_high_one_stays() -> None:
    assert render("# top\n\n#### low ##\ntext") == "# top\n\n**low**\ntext"


def test_what_stands_in_a_code_block_stays_as_it_is() -> None:
    text = "```\n| a | b |\n|---|---|\n#### no\n```"
    assert render(text) == text


def test_a_table_with_backticks_gets_a_longer_fence() -> None:
    assert render("| a |\n|---|\n| `` ``` `` |").startswith("````\n")


def test_looks_that_make_a_text_too_long_are_left_out() -> None:
    table = "| a | b |\n|---|---|\n" + f"| {'x' * 900} | y |\n" + "| 1 | 2 |\n" * 20
    assert len(render(table)) > MAX_TEXT
    assert words(table[:MAX_TEXT]) == table[:MAX_TEXT]


@given(TEXTS)
def test_no_letter_is_lost(text: str) -> None:
    def letters(of: str) -> str:
        return re.sub(r"[\s|#*`:+\-\\]|\(.*?\)|[\ud800-\udfff\ufffd]", "", of)

    if "](" not in text and "<" not in text and "&" not in text and "\0" not in text:
        assert letters(render(text)) == letters(text)


@given(TEXTS)
def test_nothing_that_leaves_pings_anybody_or_is_over_the_cap(text: str) -> None:
    text = text[:MAX_TEXT]
    for body in (message(text), edit(text)):
        assert body["allowed_mentions"] == {"parse": [], "replied_user": False}
        assert len(str(body["content"])) <= MAX_TEXT
        assert isinstance(str(body["content"]).encode(), bytes)


def test_a_text_without_tables_and_low_headings_is_unchanged() -> None:
    text = "ok @everyone <@&123456789012345678> done\n- a\n  - b\n\n> q ||s|| __u__"
    assert render(text) == text

"""The agent's Markdown in WhatsApp's marks."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.channels.whatsapp.markdown import render
from fermix.infrastructure.channels.whatsapp.wire_out import formatted

_PIECES = st.sampled_from(
    [
        "**", "*", "_", "~~", "`", "```", "\n", "\n\n", "# ", "- ", "1. ", "> ", "[", "](https://x.test/a_b)",
        "![", "|", "\n|---|---|\n", "---", "snake_case", "2*3", "@15551234567", "é🎉", "\\", "<b>", "&amp;", " ",
        "word", "    ", "\t", "\x07", "\ud83d",
    ]
)  # fmt: skip
MARKDOWN = st.lists(_PIECES | st.text(max_size=6), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** *it* _it_ ~~gone~~", "*bold* _it_ _it_ ~gone~"),
        ("***both***", "_*both*_"),
        ("**over\ntwo lines**", "*over*\n*two lines*"),
        ("# A **great** day", "*A great day*"),
        ("- one\n- two\n  - three", "• one\n• two\n  • three"),
        ("3. one\n4. two", "3. one\n4. two"),
        ("> said\n> twice", "> said\n> twice"),
        ("> > deep", "> deep"),
        ("`x_y` and ``a`b``", "`x_y` and ```a`b```"),
        ("```python\nprint(1)\n```", "```\nprint(1)\n```"),
        ("[docs](https://x.test/a)", "docs: https://x.test/a"),
        ("<https://x.test/a>", "https://x.test/a"),
        ("![cat](https://x.test/c.png)", "cat: https://x.test/c.png"),
        ("| a | b |\n|---|---|\n| 1 | 22 |", "```\na | b\n--+---\n1 | 22\n```"),
        ("snake_case 2*3 a*b*c", "snake_case 2*3 a*b*c"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("a < b && c > d", "a < b && c > d"),
        ("---", "---"),
    ],
)
def test_each_mark_has_its_own(markdown: str, shown: str) -> None:
    assert render(markdown) == shown


@given(MARKDOWN)
def test_whatever_is_written_can_be_sent(markdown: str) -> None:
    shown = formatted(markdown, limit=4096)
    assert len(shown) <= max(len(markdown), 4096)
    assert bool(shown.strip()) or not re.sub(r"[\x00-\x1f\s]", "", markdown)
    shown.encode()


@given(MARKDOWN)
def test_no_letter_and_no_digit_gets_lost(markdown: str) -> None:
    if "&" in markdown or "```" in markdown or "~~~" in markdown:
        return  # an entity becomes what it stands for, and a fence loses the name of its language
    wanted, shown = re.findall(r"[a-z]{3,}", markdown), render(markdown)
    assert [word for word in wanted if word not in shown] == []

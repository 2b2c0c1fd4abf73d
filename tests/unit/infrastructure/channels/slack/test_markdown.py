"""The agent's Markdown in Slack's marks, in a form that calls nobody."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.infrastructure.channels.slack.markdown import render, within
from fermix.infrastructure.channels.slack.words_in import unescaped

_PIECES = st.sampled_from(
    [
        "**", "*", "_", "~~", "`", "```", "\n", "\n\n", "# ", "- ", "1. ", "> ", "[", "](https://x.test/a_b)",
        "![", "|", "\n|---|---|\n", "---", "<!channel>", "<@U0OWN>", "<!here|x>", "@here", "](<!channel>)",
        "](https://x.test/<!here>)", "](<https://x.test/|<!everyone>)", "<https://x.test/?a=1&b=2>", "é🎉", "\\",
        "<", ">", "&lt;!channel&gt;", "&amp;", " ", "word", "    ", "\t", "\x07", "\ud83d", "<!subteam^S1>",
    ]
)  # fmt: skip
MARKDOWN = st.lists(_PIECES | st.text(max_size=6), max_size=40).map("".join)
_A_LINK = re.compile(r"<(?:https?://|mailto:)[^<>|\s]+(?:\|[^<>|\n]+)?>")


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
        ("`x_y` and ``a`b``", "`x_y` and a`b"),
        ("```python\nif a < b: pass\n```", "```\nif a &lt; b: pass\n```"),
        ("[docs](https://x.test/?a=1&b=2)", "<https://x.test/?a=1&amp;b=2|docs>"),
        ("<https://x.test/a>", "<https://x.test/a>"),
        ("[a|b](https://x.test/a|b)", "<https://x.test/a%7Cb|a¦b>"),
        ("[here](/relative)", "here (/relative)"),
        ("![cat](https://x.test/c.png)", "<https://x.test/c.png|cat>"),
        ("| a | b |\n|---|---|\n| 1 | 22 |", "```\na | b\n--+---\n1 | 22\n```"),
        ("snake_case 2*3 a*b*c", "snake_case 2*3 a*b*c"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ("---", "---"),
    ],
)
def test_each_mark_has_its_own(markdown: str, shown: str) -> None:
    assert render(markdown) == shown


@pytest.mark.parametrize(
    "markdown",
    ["<!channel>", "<!here|here>", "hi <@U0OWN>", "`<!everyone>`", "```\n<@U0OWN>\n```", "# <!channel>",
     "[<!channel>](https://x.test)", "[x](<!channel>)", "| <!here> |\n|---|\n| <@U1> |", "> <!channel>"],
)  # fmt: skip
def test_nobody_is_called_and_the_words_stay(markdown: str) -> None:
    shown = render(markdown)
    assert re.search(r"<[!@#]", shown) is None
    assert any(name in unescaped(shown) for name in ("channel", "here", "everyone", "U0OWN", "U1"))


@given(MARKDOWN)
def test_whatever_is_written_can_be_sent_and_calls_nobody(markdown: str) -> None:
    shown = within(markdown, limit=max(len(markdown), 1))
    rest = _A_LINK.sub("", shown)
    assert "<" not in rest
    assert len(shown) <= max(len(markdown), 1)
    assert bool(shown.strip()) or not re.sub(r"[\x00-\x1f\s]", "", markdown)
    shown.encode()


@given(MARKDOWN)
def test_every_ampersand_is_one_of_an_escape_where_there_is_room(markdown: str) -> None:
    assert re.search(r"&(?!amp;|lt;|gt;)", render(markdown)) is None


@given(MARKDOWN)
def test_no_letter_and_no_digit_gets_lost(markdown: str) -> None:
    if "&" in markdown or "```" in markdown or "~~~" in markdown or "](" in markdown or "\\" in markdown:
        return
    shown = unescaped(render(markdown))
    kept = [letter for letter in shown if letter.isalnum()]
    for letter in markdown:
        if letter.isalnum() and letter.isascii() and not letter.isdigit():
            assert letter in kept


@pytest.mark.parametrize("letter", ["<", "&", ">", "a<b&c>"])
def test_what_escapes_would_make_too_long_is_shown_in_wide_letters(letter: str) -> None:
    text = letter * (40_000 // len(letter))
    shown = within(text, limit=40_000)
    assert len(shown) == len(text)
    assert "<" not in shown
    assert "\uff1c" in shown or "<" not in letter

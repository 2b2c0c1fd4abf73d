"""What all platforms show alike, whatever marks they have."""

from collections.abc import Callable

import pytest

from fermix.infrastructure.channels.discord.markdown import render as discord
from fermix.infrastructure.channels.signal.plain_text import plain as signal
from fermix.infrastructure.channels.slack.markdown import render as slack
from fermix.infrastructure.channels.telegram.markdown import render as telegram
from fermix.infrastructure.channels.whatsapp.markdown import render as whatsapp
from fermix.infrastructure.text.document import Table, in_brackets, plain
from fermix.infrastructure.text.parsing import parse
from fermix.infrastructure.text.tables import drawn

WITHOUT_MARKDOWN = [
    pytest.param(signal, id="signal"),
    pytest.param(slack, id="slack"),
    pytest.param(lambda markdown: telegram(markdown).text, id="telegram"),
    pytest.param(whatsapp, id="whatsapp"),
]
ALL = [*WITHOUT_MARKDOWN, pytest.param(discord, id="discord")]


@pytest.mark.parametrize("shown", WITHOUT_MARKDOWN)
def test_what_a_rule_parts_stays_apart(shown: Callable[[str], str]) -> None:
    assert shown("one\n\n---\ntwo") == "one\n\ntwo"


@pytest.mark.parametrize("shown", ALL)
@pytest.mark.parametrize(
    "markdown", ["see [](https://x.test/a) there", "| a |\n|---|\n| [](https://x.test/a) |"]
)
def test_an_address_without_a_label_is_shown(shown: Callable[[str], str], markdown: str) -> None:
    assert "https://x.test/a" in shown(markdown)


@pytest.mark.parametrize("shown", ALL)
def test_columns_stand_under_one_another_whatever_is_in_them(shown: Callable[[str], str]) -> None:
    drawing = "a    | b\n-----+--\nx y  | 1\nlong | 2"
    assert drawing in shown("| a | b |\n|---|---|\n| x\ty | 1 |\n| long | 2 |")


def test_a_line_stands_below_the_heads_and_no_blanks_end_a_line() -> None:
    (table,) = parse("| head | b |\n|---|---|\n| c | |").blocks
    assert isinstance(table, Table)
    assert drawn(table, lambda inner: plain(inner, link=in_brackets)) == ["head | b", "-----+--", "c    |"]

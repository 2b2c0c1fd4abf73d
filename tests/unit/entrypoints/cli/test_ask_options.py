"""The quick reading of `ask`'s options says the same as click, or says nothing."""

from collections.abc import Sequence

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.ask_command import ask
from fermix.entrypoints.cli.ask_options import AskOptions, read_plain, valid_timeout

WORDS = (
    "- -- hello -f --file a.txt --session s --new --model openai/gpt --json --timeout 5 0.5 0 nan inf -1 -v "
    "--verbose --no-input --help -h --json=1 -vf --sess --file=b.txt -fb.txt --unknown --stream-json --save-to out"
)
words = st.sampled_from(["", " ", "what is this?", *WORDS.split(" ")])


def read_by_click(arguments: Sequence[str]) -> AskOptions | None:
    try:
        context = ask.make_context("ask", list(arguments))
    except (click.ClickException, click.exceptions.Exit):
        return None
    found = context.params
    if found["session"] is not None and found["new"]:
        return None
    found["json"] = found.pop("as_json")
    return AskOptions(**found)


@given(st.lists(words, max_size=7))
def test_a_command_line_read_quickly_is_read_as_click_reads_it(arguments: list[str]) -> None:
    options = read_plain(arguments)
    if options is not None:
        assert options == read_by_click(arguments)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], AskOptions()),
        (["hello"], AskOptions(text="hello")),
        (["-"], AskOptions(text="-")),
        (["--", "-v"], AskOptions(text="-v")),
        (["hello", "-f", "a", "--file", "-"], AskOptions(text="hello", files=("a", "-"))),
        (
            ["--session", "s", "--model", "m", "--timeout", "1.5", "--json", "-v", "--no-input", "x"],
            AskOptions(text="x", session="s", model="m", timeout=1.5, json=True, verbose=True, no_input=True),
        ),
        (["--new", "x"], AskOptions(text="x", new=True)),
        (["--save-to", "out", "x"], AskOptions(text="x", save_to="out")),
    ],
)
def test_plain_command_lines_are_read_quickly(arguments: list[str], options: AskOptions) -> None:
    assert read_plain(arguments) == options
    assert read_by_click(arguments) == options


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["one", "two"],
        ["--session", "s", "--new", "x"],
        ["--session"],
        ["--session", " ", "x"],
        ["--timeout", "soon", "x"],
        ["--unknown", "x"],
    ],
)
def test_help_and_mistakes_are_left_to_click(arguments: list[str]) -> None:
    assert read_plain(arguments) is None


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "-inf", "", "five", "1e999"])
def test_a_time_limit_is_a_number_of_seconds_above_zero(value: str) -> None:
    assert valid_timeout(value) is None

"""What stands on stdout when an `ask` is done is the whole reply, however it came."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.entrypoints.cli.answer_writer import AnswerWriter, local_model_note
from fermix.entrypoints.cli.terminal_text import visible
from fermix.infrastructure.local_socket.asking import (
    Accepted,
    AskEvent,
    Missed,
    Part,
    PromptShown,
    StepStarted,
    TextDelta,
    ThoughtTold,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)

pieces = st.lists(st.text(st.sampled_from("ab \n\x1b"), max_size=4))


def written(
    events: list[AskEvent], text: str, *, streams: bool = True, verbose: bool = False
) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    writer = AnswerWriter(out, err, streams=streams, verbose=verbose)
    for event in events:
        writer.show(event)
    writer.finish(text)
    return out.getvalue(), err.getvalue()


@given(pieces)
def test_a_streamed_answer_is_the_answer(texts: list[str]) -> None:
    whole = "".join(texts)
    out, _ = written([TextDelta(text) for text in texts], whole)
    assert out == visible(whole) + ("" if whole == "" or whole.endswith("\n") else "\n")


@given(pieces, st.text(st.sampled_from("ab \n"), min_size=1))
def test_whatever_was_streamed_the_whole_answer_stands_at_the_end(texts: list[str], whole: str) -> None:
    out, _ = written([TextDelta(text) for text in texts], whole)
    assert out.rstrip().endswith(whole.strip())


def test_the_rest_of_an_answer_cut_short_follows_at_once() -> None:
    assert written([TextDelta("one ")], "one two")[0] == "one two\n"


def test_an_answer_without_its_outer_blanks_is_not_printed_twice() -> None:
    assert written([TextDelta("\nhello "), TextDelta("\n")], "hello")[0] == "\nhello \n"


def test_another_answer_than_the_streamed_one_is_printed_whole_on_its_own_line() -> None:
    assert written([TextDelta("helo")], "hello")[0] == "helo\nhello\n"


def test_after_a_gap_the_answer_is_printed_whole() -> None:
    assert written([TextDelta("one "), Missed(3), TextDelta("four")], "one two three four")[0] == (
        "one four\none two three four\n"
    )


def test_commentary_before_a_tool_is_not_taken_for_the_answer() -> None:
    events: list[AskEvent] = [
        TextDelta("Let me look."),
        ToolStarted("file_read"),
        StepStarted(2),
        TextDelta("It is 7."),
    ]
    assert written(events, "It is 7.") == ("Let me look.\nIt is 7.\n", "")


@pytest.mark.parametrize(("verbose", "told"), [(True, "fermix: 💭 Looking · Reading\n"), (False, "")])
def test_thoughts_are_told_to_those_who_want_to_know_and_are_no_part_of_the_answer(
    *, verbose: bool, told: str
) -> None:
    events: list[AskEvent] = [ThoughtTold("**Looking**\n\nhm\n\n**Reading**\n"), TextDelta("It is 7.")]
    assert written(events, "It is 7.", verbose=verbose) == ("It is 7.\n", told)


@pytest.mark.parametrize("streams", [True, False])
def test_what_the_owner_is_asked_is_told_at_once_and_is_no_part_of_the_answer(*, streams: bool) -> None:
    events: list[AskEvent] = [PromptShown("May I?\n/confirm ABCDEFGH \x1b[2J"), TextDelta("I wait.")]
    out, err = written(events, "I wait.", streams=streams)
    assert out == "I wait.\n"
    assert err == "fermix: May I?\n/confirm ABCDEFGH \\x1b[2J\n"


@pytest.mark.requirement("streaming.piped_ask_does_not_stream")
def test_into_a_pipe_the_answer_goes_once_and_raw() -> None:
    out, err = written([TextDelta("\x1b[1m"), TextDelta("bold")], "\x1b[1mbold", streams=False)
    assert (out, err) == ("\x1b[1mbold\n", "")


def test_a_part_is_not_printed_before_the_end_that_repeats_it() -> None:
    assert written([Accepted(None), Part("done")], "done")[0] == "done\n"


def test_what_happens_is_told_to_those_who_want_to_know() -> None:
    events: list[AskEvent] = [
        TurnStarted("openai", "gpt"),
        ToolStarted("file_read"),
        ToolFinished("file_read", failed=True),
        TextDelta("hm"),
        ToolFinished("glob\x1b", failed=False),
    ]
    out, err = written(events, "hm", verbose=True)
    assert out == "hm\n"
    assert err.splitlines() == [
        "fermix: asking openai (gpt)",
        "fermix: using file_read",
        "fermix: file_read failed",
        "fermix: glob\\x1b is done",
    ]


def test_the_note_on_the_local_model_says_what_it_is_and_how_to_get_a_better_one() -> None:
    note = local_model_note(Path("/home/ada/.fermix"))
    assert "no agent" in note
    assert "OPENAI_API_KEY" in note
    assert "/home/ada/.fermix/config.toml" in note

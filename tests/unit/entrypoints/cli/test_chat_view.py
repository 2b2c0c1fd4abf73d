"""What stands on the screen when an answer is done, however it came, and that nothing is written over what was."""

import io
import os
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fermix.entrypoints.cli.chat.view import ChatView, ToolLine
from fermix.entrypoints.cli.received_file import ReceivedFile
from fermix.infrastructure.local_socket.asking import (
    Accepted,
    AskEvent,
    Missed,
    PromptShown,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from tests.integration.cli.pseudo_terminal import Screen

BEFORE = "before\n"
ANSWER = (
    "# Plan\n\nFirst *this* and\nthen that.\n\n1. one\n2. two\n\n```python\nx = 1\n\ny = 2\n```\n\n"
    "\u3042\u3044\u3046 wide \U0001f600 e\u0301\tend\n\n> said\n\nDone."
)
DRAWN = (
    "Plan\n\nFirst this and\nthen that.\n\n 1 one\n 2 two\n\nx = 1\n\ny = 2\n\n"
    "\u3042\u3044\u3046 wide \U0001f600 e\u0301    end\n\n▌ said\n\nDone."
)


class Terminal:
    """A view and the screen it writes to; the size may change."""

    def __init__(self, columns: int = 60, lines: int = 40, **environ: str) -> None:
        self.size = os.terminal_size((columns, lines))
        self.screen = Screen(columns, lines)
        self._out = io.StringIO()
        self._out.write(BEFORE)
        environ = {"TERM": "xterm-256color", "NO_COLOR": "1", **environ}
        self.view = ChatView(self._out, environ=environ, size=lambda: self.size)

    def show(self, *events: AskEvent) -> None:
        for event in events:
            self.view.show(event)

    def say(self, *texts: str) -> None:
        self.show(*(TextDelta(text) for text in texts))

    def raw(self) -> str:
        return self._out.getvalue()

    def shown(self) -> str:
        self.screen.feed(self._out.getvalue().replace("\n", "\r\n"))
        self._out.seek(0)
        self._out.truncate()
        text = self.screen.text()
        assert text.startswith(BEFORE.rstrip())
        return text.removeprefix(BEFORE.rstrip()).removeprefix("\n")


def pieces_of(text: str) -> st.SearchStrategy[list[str]]:
    cuts = st.lists(st.integers(0, len(text)), max_size=20).map(lambda found: sorted({0, *found, len(text)}))
    return cuts.map(lambda found: [text[a:b] for a, b in pairwise(found)])


@settings(max_examples=60, deadline=None)
@given(pieces_of(ANSWER))
def test_however_an_answer_comes_it_stands_there_drawn_once(pieces: list[str]) -> None:
    terminal = Terminal()
    terminal.say(*pieces)
    terminal.view.finish(ANSWER)
    assert terminal.shown() == DRAWN


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab \n-`#>*|\u3042\U0001f600\u0301\t\x1b"), max_size=8), max_size=20),
    st.integers(10, 40),
    st.integers(3, 12),
)
def test_nothing_settled_is_ever_written_over(pieces: list[str], columns: int, lines: int) -> None:
    terminal = Terminal(columns, lines)
    terminal.say("seen\n\n", *pieces)
    terminal.view.finish("seen\n\n" + "".join(pieces))
    terminal.say("next")
    terminal.view.finish("next")
    shown = terminal.shown().split("\n")
    assert shown[0] == "seen"
    assert shown[-1] == "next"


def test_what_is_being_written_is_seen_before_its_block_is_finished() -> None:
    terminal = Terminal()
    terminal.say("so **fa")
    assert terminal.shown() == "so **fa"


def test_an_answer_longer_than_the_screen_stays_as_it_came() -> None:
    code = "\n".join(f"line {number}" for number in range(20))
    answer = f"Look:\n\n```\n{code}\n```\n\nDone **now**."
    terminal = Terminal(40, 8)
    terminal.say(*(answer[start : start + 4] for start in range(0, len(answer), 4)))
    terminal.view.finish(answer)
    shown = terminal.shown()
    assert shown.startswith("Look:\n\n```\nline 0\n")
    assert shown.count("line 19") == 1
    assert "Done" in shown


def test_a_very_long_answer_is_shown_in_time_that_grows_with_it() -> None:
    answer = "```python\n" + "x = 1\n\n" * 15_000 + "```\n"
    terminal = Terminal(80, 24)
    terminal.say(*(answer[start : start + 50] for start in range(0, len(answer), 50)))
    terminal.view.finish(answer)
    assert terminal.raw().count("x = 1") == 15_000


def test_a_list_longer_than_the_screen_is_drawn_in_parts() -> None:
    answer = "\n".join(f"- *item* {number}" for number in range(30))
    terminal = Terminal(40, 8)
    terminal.say(*(answer[start : start + 4] for start in range(0, len(answer), 4)))
    terminal.view.finish(answer)
    assert terminal.shown() == "\n".join(f" • item {number}" for number in range(30))


def test_after_a_change_of_the_window_nothing_is_taken_back() -> None:
    terminal = Terminal()
    terminal.say("one *two*")
    terminal.size = os.terminal_size((30, 40))
    terminal.view.finish("one *two*")
    assert terminal.shown() == "one *two*"


def test_after_the_terminal_was_anothers_for_a_while_nothing_is_taken_back() -> None:
    terminal = Terminal(columns=20)
    terminal.say("*one* and **two** and three")
    terminal.view.resumed()
    before = terminal.raw()
    terminal.view.finish("*one* and **two** and three.\n")
    assert "\x1b[" not in terminal.raw()[len(before) :]
    terminal.say("*four*")
    terminal.view.finish("*four*")
    assert terminal.shown().endswith("three.\nfour")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_move_its_cursor_gets_the_words_as_they_come(term: str) -> None:
    terminal = Terminal(TERM=term)
    terminal.say("# one\n\n", "*two*\nthree")
    terminal.view.finish("# one\n\n*two*\nthree")
    assert "\x1b" not in terminal.raw()
    assert terminal.shown() == "# one\n\n*two*\nthree"


def test_what_was_said_before_it_was_broken_off_stays() -> None:
    terminal = Terminal()
    terminal.say("First.\n\nSecond **un")
    terminal.view.break_off()
    terminal.say("next")
    terminal.view.finish("next")
    assert terminal.shown() == "First.\n\nSecond **un\nnext"


def test_the_tools_of_a_step_have_one_line() -> None:
    terminal = Terminal()
    terminal.say("Let me look.")
    terminal.show(ToolStarted("file_read"), ToolStarted("glob"))
    assert terminal.shown() == "Let me look.\nusing file_read, glob …"
    terminal.show(ToolFinished("file_read", failed=False))
    assert terminal.shown() == "Let me look.\nusing glob …; used file_read"
    terminal.show(ToolFinished("glob", failed=True), StepStarted(2))
    terminal.say("It is 7.")
    terminal.view.finish("It is 7.")
    assert terminal.shown() == "Let me look.\nused file_read, glob (failed)\nIt is 7."


def test_what_the_owner_is_asked_stands_between_what_was_said_and_the_answer() -> None:
    terminal = Terminal()
    terminal.say("Let me ask.")
    terminal.show(ToolStarted("request_directory_access"), PromptShown("May I?\n\nSend `/confirm ABCDEFGH`."))
    terminal.show(ToolFinished("request_directory_access", failed=False), StepStarted(2))
    terminal.say("I wait.")
    terminal.view.finish("I wait.")
    lines = [line for line in terminal.shown().splitlines() if line]
    assert [line for line in lines if not line.startswith("us")] == [
        "Let me ask.",
        "May I?",
        "Send /confirm ABCDEFGH.",
        "I wait.",
    ]


def test_a_tools_name_cannot_steer_the_terminal_nor_fill_more_than_a_line() -> None:
    terminal = Terminal(30, 10)
    terminal.show(*(ToolStarted(f"tool\x1b[2J\n{number}") for number in range(10)))
    assert "\x1b[2J" not in terminal.raw()
    assert terminal.shown() == "using tool\\x1b[2J 0, tool\\x1…"


def test_what_is_asked_is_said_until_the_answer_begins() -> None:
    terminal = Terminal()
    terminal.show(Accepted(3), TurnStarted("openai", "gpt"))
    assert terminal.shown() == "asking openai (gpt) …"
    terminal.say("Hi.")
    terminal.view.finish("Hi.")
    assert terminal.shown() == "Hi."


def test_the_reply_of_a_command_is_not_taken_for_markdown() -> None:
    terminal = Terminal()
    terminal.show(Accepted(None))
    terminal.view.finish("/new *begins* anew\n/stop")
    assert terminal.shown() == "/new *begins* anew\n/stop"


def test_after_a_gap_the_answer_is_shown_whole() -> None:
    terminal = Terminal()
    terminal.say("one ")
    terminal.show(Missed(2))
    terminal.say("four")
    terminal.view.finish("one two three four")
    assert terminal.shown() == "one four\none two three four"


def test_a_file_that_came_has_a_line_of_its_own_and_its_name_moves_nothing() -> None:
    terminal = Terminal()
    terminal.say("Here it")
    terminal.view.show(ReceivedFile("a\x1b[2J", "/tmp/a.png", "image/png", 5, "image", "\x1b[2Jlook"))
    terminal.view.show(ReceivedFile("b\x1b[2J", None, "image/png", 5, "image", "", "No space left."))
    terminal.view.finish("Here it is.")
    assert terminal.shown() == (
        "Here it\n"
        "Saved /tmp/a.png (image/png, 5 bytes): \\x1b[2Jlook\n"
        "The file b\\x1b[2J could not be saved. No space left.\n"
        "is."
    )


def test_commentary_is_no_part_of_the_answer() -> None:
    terminal = Terminal()
    terminal.say("Hm.")
    terminal.show(StepStarted(2))
    terminal.view.finish("Seven.")
    assert terminal.shown() == "Hm.\nSeven."


def test_a_line_of_tools_says_what_runs_first() -> None:
    line = ToolLine()
    assert not line.is_any
    line.started("a")
    line.started("a")
    line.finished("a", failed=False)
    assert line.text() == "using a …; used a"

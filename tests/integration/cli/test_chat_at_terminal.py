"""`fermix chat` on a real pseudo-terminal: what is typed, what stands there, and how one stops and leaves."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fermix.application.ports.control import AskAccepted, AskEnd, AskEnded, AskPart, AskRequest
from fermix.domain.events import StepStarted, TextDelta, ToolFinished, ToolStarted, TurnStarted
from tests.integration.cli.command_line import environment, fermix
from tests.integration.cli.pseudo_terminal import chatting, on_terminal
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    Hold,
    ScriptedControl,
    Step,
    answer,
    progress,
)

CTRL_C, CTRL_D, ESCAPE, UP = "\x03", "\x04", "\x1b", "\x1b[A"


def holding_at(word: str) -> Callable[[AskRequest], list[Step]]:
    """Echoes, but for one message whose turn never ends."""

    def script(request: AskRequest) -> list[Step]:
        if request.text != word:
            return list(answer(f"echo {request.text}"))
        return [AskAccepted(turn=None), progress(1, TextDelta(text="so **far**")), Hold.FOREVER]

    return script


@pytest.fixture(autouse=True)
def echo(daemon: ScriptedControl) -> None:
    daemon.script = holding_at("hold")


def test_one_message_after_another_is_answered(home: Path, daemon: ScriptedControl) -> None:
    with chatting(home, "--session", "notes") as chat:
        chat.say("one")
        chat.wait_for("> one\necho one\n>")
        chat.say("/help")
        chat.wait_for("echo /help\n>")
        chat.press(CTRL_D)
        assert chat.end() == 0
    assert [(asked.text, asked.session, asked.new) for asked in daemon.asked] == [
        ("one", "notes", False),
        ("/help", "notes", False),
    ]


def test_without_a_name_it_is_the_session_of_ask(home: Path, daemon: ScriptedControl) -> None:
    with chatting(home, USER="ada") as chat:
        chat.say("one")
        chat.wait_for("echo one\n>")
    (asked,) = daemon.asked
    assert (asked.session, asked.user, asked.cwd) == ("cli", "ada", str(Path.cwd()))


@pytest.mark.parametrize(
    "keys",
    [
        f"one{ESCAPE}\rtwo{ESCAPE}\r\r",
        "one\\\rtwo\\\r\r",
        f"{ESCAPE}[200~one\rtwo\n{ESCAPE}[201~\r",
    ],
    ids=["escape and enter", "a backslash", "a paste"],
)
def test_a_message_may_have_several_lines(home: Path, daemon: ScriptedControl, keys: str) -> None:
    with chatting(home) as chat:
        chat.wait_for_prompt()
        chat.press(keys)
        chat.wait_for("echo one")
    assert [asked.text for asked in daemon.asked] == ["one\ntwo\n"]


def test_a_backslash_in_the_middle_does_not_keep_a_message_from_being_sent(
    home: Path, daemon: ScriptedControl
) -> None:
    with chatting(home) as chat:
        chat.say("a\\b c\\\\")
        chat.wait_for("echo a")
    assert daemon.asked[0].text == "a\\b c\\\\"


@pytest.mark.parametrize("sequence", ["[31m", "[38;5;1m", "[m", "[<0;3;3M", "[64;3;3M", "[9;9R"])
def test_a_sequence_that_no_key_sends_is_no_part_of_a_message(
    home: Path, daemon: ScriptedControl, sequence: str
) -> None:
    with chatting(home) as chat:
        chat.wait_for_prompt()
        chat.press(f"on{ESCAPE}{sequence}e\r")
        chat.wait_for_last("> one\necho one\n>")
    assert [asked.text for asked in daemon.asked] == ["one"]


@pytest.mark.parametrize("blank", ["\r", "  \r"])
def test_nothing_typed_is_not_sent(home: Path, daemon: ScriptedControl, blank: str) -> None:
    with chatting(home) as chat:
        chat.wait_for_prompt()
        chat.press(blank)
        chat.press("one\r")
        chat.wait_for("echo one")
    assert len(daemon.asked) == 1


def test_what_was_typed_before_comes_back_in_the_next_chat_too(home: Path, daemon: ScriptedControl) -> None:
    with chatting(home) as chat:
        chat.say("first")
        chat.wait_for("echo first\n>")
    with chatting(home) as chat:
        chat.wait_for_prompt()
        chat.press(f"{UP}!\r")
        chat.wait_for("echo first!")
    assert (home / "chat_history").stat().st_mode & 0o777 == 0o600


def test_a_history_that_cannot_be_used_is_told_once_and_the_chat_goes_on(
    home: Path, daemon: ScriptedControl
) -> None:
    (home / "chat_history").mkdir()
    with chatting(home) as chat:
        chat.say("one")
        chat.wait_for("echo one\n>")
        chat.say("two")
        chat.wait_for("echo two\n>")
        assert chat.shown.count("not remembered") == 1


@pytest.mark.requirement("streaming.terminal_shows_as_it_comes")
def test_the_answer_is_shown_as_it_comes_and_drawn_when_it_is_there(
    home: Path, daemon: ScriptedControl
) -> None:
    with chatting(home) as chat:
        chat.say("hold")
        chat.wait_for("so **far**")
    daemon.script = lambda _: answer("# Plan\n\nSome **bold** `code`.\n\n- one\n- two\n")
    with chatting(home) as chat:
        chat.say("plan")
        chat.wait_for("two\n>")
        assert chat.shown.endswith("> plan\nPlan\n\nSome bold code.\n\n • one\n • two\n>")
        assert "\x1b[1mbold" in chat.raw


def test_it_works_in_a_narrow_window(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: answer(
        f"{'word ' * 30}\n\n```\n{'x' * 60}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    with chatting(home, columns=40) as chat:
        chat.say("a rather long message that needs more than one row")
        chat.wait_for(" 1  2\n>")
        assert chat.shown.count("word") == 30
        assert "x" * 40 + "\n" + "x" * 20 + "\n" in chat.shown


def test_without_colours_none_are_sent(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: answer("# T\n\n`code`\n\n```python\nx = 1\n```")
    with chatting(home, NO_COLOR="1") as chat:
        chat.say("one")
        chat.wait_for("x = 1\n>")
        chat.press(CTRL_C)
        chat.wait_for("leaves")
        styles = re.findall(r"\x1b\[([0-9;]*)m", chat.raw)
    assert not {number for style in styles for number in style.split(";")} - {
        "",
        "0",
        "1",
        "2",
        "3",
        "4",
        "7",
    }


def test_on_a_terminal_that_can_do_nothing_the_words_come_plain(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: answer("# T\n\n*one*")
    with chatting(home, TERM="dumb") as chat:
        chat.wait_for(">")
        chat.press("hello\r")
        chat.wait_for("# T\n\n*one*\n")


def test_nothing_that_is_said_can_steer_the_terminal(home: Path, daemon: ScriptedControl) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b1m\rx"
    daemon.script = lambda _: [
        AskAccepted(turn=None),
        progress(1, TurnStarted(provider=evil, model=evil)),
        progress(2, TextDelta(text=evil)),
        progress(3, ToolStarted(call_id="1", name=evil)),
        AskEnded(end=AskEnd.FAILED, text="", notice=evil),
    ]
    with chatting(home) as chat:
        chat.say("one")
        chat.wait_for("fermix: \\x1b]0;owned")
        chat.wait_for_prompt()
        assert "\\x1b]0;owned\\x07\\x1b[2J\\u202e\\x9b1m\\x0dx\nusing" in chat.shown
        assert "\x1b]" not in chat.raw
        assert "\x1b[2J" not in chat.raw
        assert "\u202e" not in chat.raw


def test_a_running_tool_has_one_line(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [
        AskAccepted(turn=None),
        progress(1, ToolStarted(call_id="1", name="file_read")),
        Hold.FOREVER,
    ]
    with chatting(home) as chat:
        chat.say("look")
        chat.wait_for("> look\nusing file_read …")
    daemon.script = lambda _: [
        AskAccepted(turn=None),
        progress(1, ToolStarted(call_id="1", name="file_read")),
        progress(2, ToolFinished(call_id="1", name="file_read", failed=False)),
        progress(3, StepStarted(step=2)),
        progress(4, TextDelta(text="Seven.")),
        AskEnded(end=AskEnd.ANSWERED, text="Seven."),
    ]
    with chatting(home) as chat:
        chat.say("look")
        chat.wait_for("> look\nused file_read\nSeven.\n>")


def test_a_command_with_several_parts_is_shown_whole(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [
        AskAccepted(turn=None),
        AskPart(text="*One*"),
        AskPart(text="Two"),
        AskEnded(end=AskEnd.ANSWERED, text="*One*\nTwo"),
    ]
    with chatting(home) as chat:
        chat.say("/help")
        chat.wait_for("*One*\nTwo\n>")


def test_an_interrupt_stops_the_turn_keeps_what_was_said_and_a_second_one_leaves(
    home: Path, daemon: ScriptedControl
) -> None:
    with chatting(home) as chat:
        chat.say("hold")
        chat.wait_for("so **far**")
        chat.press(CTRL_C)
        chat.wait_for("> hold\nso **far**\nfermix: Stopped.")
        assert daemon.cancelled.wait(PATIENCE_SECONDS)
        chat.say("on")
        chat.wait_for("echo on\n>")
        chat.say("hold")
        chat.wait_for_last("on\n> hold\nso **far**")
        chat.press(CTRL_C)
        chat.wait_for_last("> hold\nso **far**\nfermix: Stopped. Ctrl-C once more leaves.\n>")
        chat.press(CTRL_C)
        assert chat.end() == 130
        assert "Traceback" not in chat.shown


def test_an_interrupt_at_the_prompt_throws_away_what_was_typed_before_it_leaves(
    home: Path, daemon: ScriptedControl
) -> None:
    with chatting(home) as chat:
        chat.wait_for_prompt()
        chat.press(f"oops{CTRL_C}")
        chat.wait_for("> oops\nfermix: Ctrl-C once more leaves, and so does Ctrl-D.\n>")
        chat.press(f"again{CTRL_C}")
        chat.wait_for("> again\nfermix: Ctrl-C once more leaves, and so does Ctrl-D.\n>")
        chat.press(CTRL_C)
        assert chat.end() == 130
    assert daemon.asked == []


def test_end_of_file_leaves_only_where_nothing_was_typed(home: Path, daemon: ScriptedControl) -> None:
    with chatting(home) as chat:
        chat.wait_for_prompt()
        chat.press(f"one{CTRL_D}\r")
        chat.wait_for("echo one\n>")
        chat.press(CTRL_D)
        assert chat.end() == 0


def test_what_is_typed_while_an_answer_comes_is_not_mixed_into_it(
    home: Path, daemon: ScriptedControl
) -> None:
    with chatting(home) as chat:
        chat.say("hold")
        chat.wait_for("so **far**")
        chat.press(f"typed ahead{CTRL_C}")  # a terminal forgets what was typed before its interrupt key
        chat.wait_for_last("so **far**\nfermix: Stopped. Ctrl-C once more leaves.\n>")


def test_stopped_by_the_shell_the_keyboard_is_the_shells_until_the_chat_goes_on(
    home: Path, daemon: ScriptedControl
) -> None:
    echoes = "stty -a | grep -q ' echo '"
    wait = f"(while {echoes}; do :; done; echo quiet again) &"
    command = f'set -m; "$0" "$@"; {echoes} && echo shell echoes; {wait} fg %1; {echoes} && echo end echoes'
    with on_terminal(
        {**environment(home), "TERM": "xterm-256color"}, "chat", wrapped_in=["sh", "-c", command]
    ) as chat:
        chat.say("hold")
        chat.wait_for("so **far**")
        chat.press("\x1a")
        chat.wait_for("shell echoes")
        chat.wait_for("quiet again")
        chat.press(f"typed ahead{CTRL_C}")
        chat.wait_for_last("fermix: Stopped. Ctrl-C once more leaves.\n>")
        chat.press(CTRL_D)
        chat.wait_for_last("end echoes")
    assert daemon.cancelled.wait(PATIENCE_SECONDS)


def test_a_failed_message_is_a_sentence_and_the_next_one_is_answered(
    home: Path, daemon: ScriptedControl
) -> None:
    daemon.script = lambda request: (
        answer("fine")
        if request.text == "good"
        else [
            AskAccepted(turn=None),
            progress(1, TextDelta(text="It is")),
            AskEnded(end=AskEnd.FAILED, text="", notice="The provider failed."),
        ]
    )
    with chatting(home) as chat:
        chat.say("bad")
        chat.wait_for("> bad\nIt is\nfermix: The provider failed.\n>")
        chat.say("good")
        chat.wait_for("fine\n>")
        chat.press(CTRL_D)
        assert chat.end() == 0


def test_the_small_local_model_is_told_of_once(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: answer("hi", provider="local", model="SmolLM2")
    with chatting(home, columns=400) as chat:
        chat.say("one")
        chat.wait_for("no agent")
        chat.say("two")
        chat.wait_for("> two\nhi\n>")
        assert chat.shown.count("no agent") == 1


def test_with_an_output_that_is_no_terminal_there_is_no_prompt(
    home: Path, daemon: ScriptedControl, tmp_path: Path
) -> None:
    command = ["sh", "-c", f'exec "$0" "$@" > {tmp_path / "out"}']
    with on_terminal(environment(home), "chat", wrapped_in=command) as chat:
        chat.press("one\n\x04")
        assert chat.end() == 0
    assert (tmp_path / "out").read_text() == "echo one\n"


@pytest.mark.parametrize(
    "arguments", [["--no-input"], ["--session", " "], ["--session", "s" * 201], ["--unknown"], ["text"]]
)
def test_wrong_usage_ends_with_status_2(home: Path, daemon: ScriptedControl, arguments: list[str]) -> None:
    done = fermix(home, "chat", *arguments)
    assert (done.status, done.out) == (2, "")
    assert "Error:" in done.err

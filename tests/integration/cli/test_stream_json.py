"""`fermix ask --stream-json`: a line for each thing that happens, at once, and always one for the end."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fermix.application.ports.control import AskAccepted, AskEnd, AskEnded, AskPart
from fermix.domain.events import (
    Gap,
    PromptShown,
    StepStarted,
    TextDelta,
    ThoughtTold,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.ids import TurnId
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, environment, fermix
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    Hold,
    ScriptedControl,
    progress,
    served,
)

ACCEPTED = {"type": "accepted", "turn": 7, "session": "cli"}
STARTED = {"type": "turn_started", "provider": "openai", "model": "gpt-test"}


def lines(out: str) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


@contextmanager
def asking(home: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*PROGRAM, "ask", "--stream-json", *arguments],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_everything_that_happens_is_a_line(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [
        AskAccepted(turn=TurnId(7)),
        progress(1, TurnStarted(provider="openai", model="gpt-test")),
        progress(2, TextDelta(text="Let me\x1b look.\n")),
        progress(3, ToolStarted(call_id="1", name="file_read")),
        progress(4, ToolFinished(call_id="1", name="file_read", failed=True)),
        progress(5, StepStarted(step=2)),
        progress(6, ThoughtTold(text="**Reading**")),
        progress(6, Gap(missed=3)),
        progress(9, PromptShown(text="May I?")),
        AskPart(text="Seven, ü."),
        AskEnded(end=AskEnd.ANSWERED, text="Seven, ü.", provider="openai", model="gpt-test"),
    ]
    done = fermix(home, "ask", "--stream-json", "--session", "notes", "hello")
    assert (done.status, done.err) == (0, "fermix: May I?\n")
    assert done.out.isascii()
    assert lines(done.out) == [
        {**ACCEPTED, "session": "notes"},
        STARTED,
        {"type": "delta", "text": "Let me\x1b look.\n"},
        {"type": "tool_started", "name": "file_read"},
        {"type": "tool_finished", "name": "file_read", "failed": True},
        {"type": "step_started", "step": 2},
        {"type": "thought", "text": "**Reading**"},
        {"type": "missed", "events": 3},
        {"type": "prompt_shown", "text": "May I?"},
        {"type": "part", "text": "Seven, ü."},
        {
            "type": "ended",
            "ok": True,
            "text": "Seven, ü.",
            "session": "notes",
            "turn": 7,
            "provider": "openai",
            "model": "gpt-test",
        },
    ]


def test_a_line_is_there_as_soon_as_it_happens(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [
        AskAccepted(turn=TurnId(7)),
        progress(1, TextDelta(text="so far")),
        Hold.FOREVER,
    ]
    with asking(home, "hello") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == ACCEPTED
        assert json.loads(process.stdout.readline()) == {"type": "delta", "text": "so far"}
        process.send_signal(signal.SIGINT)
        (ended,) = lines(process.stdout.read().decode())
        assert process.wait(LIMIT_SECONDS) == 130
    assert ended["type"] == "ended"
    assert (ended["ok"], ended["error"]["code"], ended["exit_code"]) == (False, "interrupted", 130)
    assert daemon.cancelled.wait(PATIENCE_SECONDS)


def test_an_end_without_an_answer_has_its_error_and_its_status(home: Path, daemon: ScriptedControl) -> None:
    failure = Failure(kind=FailureKind.RATE_LIMITED, provider="openai")
    daemon.script = lambda _: [
        AskAccepted(turn=TurnId(7)),
        AskEnded(end=AskEnd.FAILED, text="", notice="Too much.", failure=failure),
    ]
    done = fermix(home, "ask", "--stream-json", "hello")
    assert (done.status, done.err) == (6, "")
    accepted, ended = lines(done.out)
    assert accepted == ACCEPTED
    assert ended == {
        "type": "ended",
        "ok": False,
        "error": {"code": "rate_limited", "message": "Too much."},
        "exit_code": 6,
        "session": "cli",
        "turn": 7,
        "provider": None,
        "model": None,
    }


def test_a_daemon_that_dies_ends_the_lines_with_status_1(home: Path) -> None:
    control = ScriptedControl(script=lambda _: [AskAccepted(turn=TurnId(7)), Hold.FOREVER])
    with ExitStack() as stack:
        with served(home / "daemon.sock", control):
            process = stack.enter_context(asking(home, "hello"))
            assert control.holding.wait(PATIENCE_SECONDS)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, err) == (1, b"")
    accepted, ended = lines(out.decode())
    assert accepted == ACCEPTED
    assert (ended["type"], ended["error"]["code"], ended["exit_code"]) == ("ended", "interrupted", 1)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 2),
        (["--unknown", "x"], 2),
        (["--json", "x"], 2),
        (["--session", "s", "--new", "x"], 2),
        (["-f", "no such file", "x"], 2),
        (["one", "two"], 2),
    ],
)
def test_a_mistake_is_an_end_too(
    home: Path, daemon: ScriptedControl, arguments: list[str], status: int
) -> None:
    done = fermix(home, "ask", "--stream-json", *arguments)
    assert (done.status, done.err) == (status, "")
    (ended,) = lines(done.out)
    assert (ended["type"], ended["ok"], ended["exit_code"]) == ("ended", False, status)
    assert daemon.asked == []


def test_steps_and_tools_are_told_on_stderr_to_those_who_want_to_know(
    home: Path, daemon: ScriptedControl
) -> None:
    daemon.script = lambda _: [
        AskAccepted(turn=TurnId(7)),
        progress(1, TurnStarted(provider="openai", model="gpt\x1b")),
        progress(2, ToolStarted(call_id="1", name="file_read")),
        progress(3, ToolFinished(call_id="1", name="file_read", failed=False)),
        progress(4, StepStarted(step=2)),
        AskEnded(end=AskEnd.ANSWERED, text="Seven."),
    ]
    told = [
        "fermix: asking openai (gpt\\x1b)",
        "fermix: using file_read",
        "fermix: file_read is done",
        "fermix: step 2",
    ]
    for arguments in (["-v"], ["-v", "--json"], ["-v", "--stream-json"]):
        done = fermix(home, "ask", *arguments, "hello")
        assert done.status == 0
        assert done.err.splitlines() == told


def test_the_help_names_it(home: Path) -> None:
    assert "--stream-json" in fermix(home, "ask", "--help").out

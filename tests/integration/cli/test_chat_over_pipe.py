"""`fermix chat` without a terminal: a message a line, the answers on stdout, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fermix.application.ports.control import AskAccepted, AskEnd, AskEnded, AskRequest
from fermix.domain.events import TextDelta
from fermix.domain.failure import Failure, FailureKind
from fermix.entrypoints.cli.composition import MAX_CHARACTERS
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, Done, environment, fermix
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    Hold,
    ScriptedControl,
    Step,
    answer,
    progress,
)


def failing_at_bad(request: AskRequest) -> list[Step]:
    match request.text:
        case "bad":
            failure = Failure(kind=FailureKind.CREDENTIAL_REFUSED, provider="openai")
            notice = "The key was refused."
            return [
                AskAccepted(turn=None),
                AskEnded(end=AskEnd.FAILED, text=notice, notice=notice, failure=failure),
            ]
        case "hold":
            return [AskAccepted(turn=None), progress(1, TextDelta(text="so far")), Hold.FOREVER]
        case text:
            return list(answer(f"[{text}]"))


@pytest.fixture(autouse=True)
def script(daemon: ScriptedControl) -> None:
    daemon.script = failing_at_bad


@contextmanager
def piped(home: Path, *arguments: str, stdout: int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    """A chat whose standard input is a pipe that stays open."""
    with subprocess.Popen(
        [*PROGRAM, "chat", *arguments],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def write(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def test_each_line_is_a_message_and_each_answer_goes_to_stdout(home: Path, daemon: ScriptedControl) -> None:
    done = fermix(home, "chat", "--session", "notes", text=b"one\n\n  \ntwo words\r\n/help")
    assert done == Done(0, "[one]\n[two words]\n[/help]\n", "")
    assert [(asked.text, asked.session) for asked in daemon.asked] == [
        ("one", "notes"),
        ("two words", "notes"),
        ("/help", "notes"),
    ]
    assert len({asked.request for asked in daemon.asked}) == 3


def test_an_answer_comes_before_the_next_line_is_written(home: Path, daemon: ScriptedControl) -> None:
    with piped(home) as process:
        assert process.stdout is not None
        for word in (b"one", b"two"):
            write(process, word + b"\n")
            assert process.stdout.readline() == b"[" + word + b"]\n"


def test_answers_go_raw_into_a_pipe(home: Path, daemon: ScriptedControl) -> None:
    assert fermix(home, "chat", text="\x1b[1m*ü*".encode()).out == "[\x1b[1m*ü*]\n"


def test_a_message_without_an_answer_is_told_and_the_next_one_is_answered(
    home: Path, daemon: ScriptedControl
) -> None:
    done = fermix(home, "chat", text=b"bad\ngood\n")
    assert done == Done(4, "[good]\n", "fermix: The key was refused.\n")


@pytest.mark.parametrize("text", [b"", b"\n \n"])
def test_without_a_message_there_is_nothing_to_do(home: Path, daemon: ScriptedControl, text: bytes) -> None:
    assert fermix(home, "chat", text=text) == Done(0, "", "")


def test_a_line_that_is_too_long_is_skipped_with_the_limit(home: Path, daemon: ScriptedControl) -> None:
    longest = b"x" * MAX_CHARACTERS
    done = fermix(home, "chat", text=b"x" * (4 * MAX_CHARACTERS + 1) + b"\n" + longest + b"x\ngood\n")
    assert (done.status, done.out) == (2, "[good]\n")
    assert done.err.count("1,000,000 characters") == 2


def test_bytes_that_are_no_text_are_replaced_and_told(home: Path, daemon: ScriptedControl) -> None:
    done = fermix(home, "chat", text=b"gr\xfc\xdfe\x00")
    assert done.out == "[gr\ufffd\ufffde\ufffd]\n"
    assert "not valid UTF-8" in done.err


def test_an_interrupt_ends_the_turn_and_the_chat(home: Path, daemon: ScriptedControl) -> None:
    with piped(home) as process:
        write(process, b"hold\n")
        assert daemon.holding.wait(PATIENCE_SECONDS)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert (process.returncode, out, err) == (130, b"", b"fermix: Interrupted.\n")
    assert daemon.cancelled.wait(PATIENCE_SECONDS)


def test_an_output_that_nobody_reads_any_more_ends_the_turn_and_the_chat(
    home: Path, daemon: ScriptedControl
) -> None:
    reader, writer = os.pipe()
    with piped(home, stdout=writer) as process:
        os.close(writer)
        write(process, b"hold\nmore\n")
        assert daemon.holding.wait(PATIENCE_SECONDS)
        os.close(reader)
        assert process.wait(LIMIT_SECONDS) == 141
    assert daemon.cancelled.wait(PATIENCE_SECONDS)
    assert len(daemon.asked) == 1


REPORT = """
import json, sys
from fermix.entrypoints.cli.main import main
status = main(sys.argv[1:])
sys.stderr.write(json.dumps([status, list(sys.modules)]))
"""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["ask", "hello"], None),
        (["ask", "--stream-json", "hello"], None),
        (["ask", "--session=s", "hello"], None),
        (["chat"], b"hello\n"),
    ],
    ids=["ask", "stream", "spelled for click", "chat"],
)
def test_what_draws_is_loaded_only_for_a_terminal(
    home: Path, daemon: ScriptedControl, arguments: list[str], text: bytes | None
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments],
        check=True,
        capture_output=True,
        input=text or b"",
        env=environment(home),
        timeout=LIMIT_SECONDS,
    )
    status, modules = json.loads(done.stderr)
    assert status == 0
    loaded = {name.partition(".")[0] for name in modules}
    assert loaded & {"prompt_toolkit", "rich", "markdown_it", "pygments", "asyncio"} == set()

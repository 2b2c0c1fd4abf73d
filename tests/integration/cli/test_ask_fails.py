"""`fermix ask` without an answer: the sentence on stderr, the status, and no turn that runs on for nobody."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from fermix.application.ports.control import AskAccepted, AskEnd, AskEnded, AskRequest
from fermix.domain.events import TextDelta
from fermix.domain.failure import Failure, FailureKind
from fermix.domain.turn import Outcome
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, environment, fermix
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    Hold,
    ScriptedControl,
    Step,
    progress,
    served,
)


def holding(request: AskRequest) -> list[Step]:
    return [AskAccepted(turn=None), progress(1, TextDelta(text="so far")), Hold.FOREVER]


@contextmanager
def running(home: Path, *arguments: str, stdout: int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*PROGRAM, "ask", *arguments],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    return process.returncode, (out or b"").decode(), err.decode()


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (FailureKind.NO_MODEL, 6),
        (FailureKind.CREDENTIAL_REFUSED, 4),
        (FailureKind.RATE_LIMITED, 6),
        (FailureKind.TIMED_OUT, 8),
        (FailureKind.LOOPING, 1),
    ],
)
def test_a_failed_turn_is_told_on_stderr_with_its_status(
    home: Path, daemon: ScriptedControl, kind: FailureKind, status: int
) -> None:
    failure = Failure(kind=kind, provider="openai", retry_after=timedelta(seconds=3))
    end = AskEnded(
        end=AskEnd.FAILED,
        text="It did not work.",
        notice="It did not work.",
        outcome=Outcome.FAILED,
        failure=failure,
    )
    daemon.script = lambda _: [AskAccepted(turn=None), end]
    done = fermix(home, "ask", "hello")
    assert done == (status, "", "fermix: It did not work.\n")
    document = fermix(home, "ask", "--json", "hello").document
    assert document["ok"] is False
    assert document["error"] == {"code": kind.value, "message": "It did not work."}
    assert document["exit_code"] == status


@pytest.mark.parametrize(
    ("end", "status"),
    [(AskEnd.INTERRUPTED, 1), (AskEnd.REFUSED, 5), (AskEnd.UNAVAILABLE, 1), (AskEnd.FAILED, 1)],
)
def test_every_other_end_has_a_sentence_and_a_status(
    home: Path, daemon: ScriptedControl, end: AskEnd, status: int
) -> None:
    daemon.script = lambda _: [AskEnded(end=end, text="")]
    done = fermix(home, "ask", "hello")
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith("fermix: ")
    assert fermix(home, "ask", "--json", "hello").document["error"]["code"] == end.value


def test_a_time_limit_ends_the_turn_with_status_8(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = holding
    done = fermix(home, "ask", "--timeout", "0.5", "hello")
    assert (done.status, done.out) == (8, "")
    assert "time limit" in done.err
    assert daemon.cancelled.wait(PATIENCE_SECONDS)


def test_an_interrupt_ends_the_turn_with_status_130(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = holding
    with running(home, "hello") as process:
        assert daemon.holding.wait(PATIENCE_SECONDS)
        process.send_signal(signal.SIGINT)
        assert ended(process) == (130, "", "fermix: Interrupted.\n")
    assert daemon.cancelled.wait(PATIENCE_SECONDS)


def test_an_interrupted_json_run_is_still_one_document(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = holding
    with running(home, "--json", "hello") as process:
        assert daemon.holding.wait(PATIENCE_SECONDS)
        process.send_signal(signal.SIGINT)
        status, out, err = ended(process)
    assert (status, err) == (130, "")
    assert '"code": "interrupted"' in out


def test_a_killed_client_ends_the_turn(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = holding
    with running(home, "hello") as process:
        assert daemon.holding.wait(PATIENCE_SECONDS)
        process.kill()
        assert daemon.cancelled.wait(PATIENCE_SECONDS)


def test_an_output_that_nobody_reads_any_more_ends_the_turn_quietly(
    home: Path, daemon: ScriptedControl
) -> None:
    daemon.script = holding
    reader, writer = os.pipe()
    with running(home, "hello", stdout=writer) as process:
        os.close(writer)
        assert daemon.holding.wait(PATIENCE_SECONDS)
        os.close(reader)
        assert ended(process)[0] == 141
    assert daemon.cancelled.wait(PATIENCE_SECONDS)


def test_an_answer_into_a_broken_pipe_ends_quietly(home: Path, daemon: ScriptedControl) -> None:
    daemon.script = lambda _: [AskEnded(end=AskEnd.ANSWERED, text="x" * 300_000)]
    command = f"{' '.join(PROGRAM)} ask hello | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment(home),
        timeout=LIMIT_SECONDS,
    )
    assert (done.stdout, done.stderr) == (b"x141\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_on_a_full_disk_is_told(home: Path, daemon: ScriptedControl) -> None:
    with Path("/dev/full").open("wb") as full, running(home, "hello", stdout=full.fileno()) as process:
        status, _, err = ended(process)
    assert status == 1
    assert err == "fermix: The output cannot be written: No space left on device.\n"


def test_a_daemon_that_dies_in_mid_ask_is_told_with_status_1(home: Path) -> None:
    control = ScriptedControl(script=holding)
    with ExitStack() as stack:
        with served(home / "daemon.sock", control):
            process = stack.enter_context(running(home, "hello"))
            assert control.holding.wait(PATIENCE_SECONDS)
        status, out, err = ended(process)
    assert (status, out) == (1, "")
    assert err == (
        "fermix: The request was interrupted and will not be run again. "
        "The daemon closed the connection before it had answered.\n"
    )
    assert len(control.asked) == 1


def test_another_users_daemon_denies_with_status_5(home: Path) -> None:
    with served(home / "daemon.sock", ScriptedControl(), owner_uid=os.getuid() + 1):
        done = fermix(home, "ask", "hello")
        document = fermix(home, "ask", "hello", "--json").document
    assert (done.status, done.out) == (5, "")
    assert document["error"]["code"] == "denied"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--unknown", "x"],
        ["one", "two"],
        ["--session", "s", "--new", "x"],
        ["--session", "s" * 201, "x"],
        ["--timeout", "0", "x"],
    ],
)
def test_mistakes_end_with_status_2_as_text_and_as_a_document(
    home: Path, daemon: ScriptedControl, arguments: list[str]
) -> None:
    done = fermix(home, "ask", *arguments)
    assert (done.status, done.out) == (2, "")
    assert "Error:" in done.err
    asked_as_json = fermix(home, "ask", "--json", *arguments)
    assert (asked_as_json.status, asked_as_json.err) == (2, "")
    assert asked_as_json.document["error"]["code"] == "usage"

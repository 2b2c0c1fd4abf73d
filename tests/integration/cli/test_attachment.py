"""Who answers when there is no daemon, when one is just starting, and when an owner does not answer."""

import io
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fermix.application.ports.control import OwnerKind
from fermix.entrypoints.cli.ask_options import AskOptions
from fermix.entrypoints.cli.ask_run import run_ask
from fermix.entrypoints.cli.attachment import attached
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.foreground import HomeTaken, Note
from fermix.entrypoints.cli.terminal import Terminal
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket import queries
from tests.integration.cli.command_line import LIMIT_SECONDS, PROGRAM, environment
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    ScriptedControl,
    served,
)


class ServedHere:
    """A foreground that serves a scripted gateway."""

    def __init__(self, control: ScriptedControl | None = None) -> None:
        self.control = control or ScriptedControl(kind=OwnerKind.IN_PROCESS)
        self.owned = 0
        self.given_back = False

    @contextmanager
    def own(self, home: Path, *, verbose: bool, note: Note) -> Iterator[None]:
        self.owned += 1
        with served(home / "daemon.sock", self.control):
            yield
        self.given_back = True


class Taken:
    """A foreground whose home belongs to somebody else; `meanwhile` happens at each try."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._meanwhile = meanwhile

    @contextmanager
    def own(self, home: Path, *, verbose: bool, note: Note) -> Iterator[None]:
        self._meanwhile()
        raise HomeTaken("The home is in use by a daemon (process 42).")
        yield


def ignore(_: str) -> None:
    pass


def asked(home: Path, foreground: ServedHere | Taken, *, json: bool = False) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(environ={"FERMIX_HOME": str(home)}, input=-1, out=out, err=err)
    status = run_ask(AskOptions(text="hello", json=json, no_input=True), terminal, foreground)
    return status, out.getvalue(), err.getvalue()


def test_without_a_daemon_this_process_answers_and_gives_the_home_back(home: Path) -> None:
    foreground = ServedHere()
    assert asked(home, foreground) == (0, "hello\n", "")
    assert (foreground.owned, foreground.given_back) == (1, True)


def test_with_a_daemon_this_process_does_not_answer(home: Path, daemon: ScriptedControl) -> None:
    foreground = ServedHere()
    assert asked(home, foreground)[0] == 0
    assert foreground.owned == 0


def test_an_owner_that_is_just_starting_is_waited_for(home: Path) -> None:
    control = ScriptedControl()
    with ExitStack() as stack:
        tries: list[None] = []

        def start_at_the_third_try() -> None:
            tries.append(None)
            if len(tries) == 3:
                stack.enter_context(served(home / "daemon.sock", control))

        assert asked(home, Taken(start_at_the_third_try)) == (0, "hello\n", "")
    assert len(tries) == 3


def test_an_owner_that_does_not_answer_is_named(home: Path) -> None:
    with (
        pytest.raises(CommandFailed, match="process 42") as failure,
        attached(home, Taken(lambda: None), verbose=False, note=ignore, patience=0.1),
    ):
        pass
    assert failure.value.exit_code is ExitCode.FAILURE
    assert failure.value.code == "home_busy"


def test_the_connection_is_closed_before_the_home_is_given_back(home: Path) -> None:
    foreground = ServedHere()
    with attached(home, foreground, verbose=False, note=ignore) as client:
        assert queries.identify(client).kind is OwnerKind.IN_PROCESS
        assert not foreground.given_back
    assert foreground.given_back


@contextmanager
def owner_that_ends(home: Path, *, reply: bytes) -> Iterator[list[bytes]]:
    """An owner that takes one connection, says `reply`, and is gone; yields what it was asked."""
    received: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "daemon.sock"))
        listener.listen()

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                received.append(connection.recv(65536))
                connection.sendall(reply)
                (home / "daemon.sock").unlink()

        thread = threading.Thread(target=run)
        thread.start()
        yield received
        thread.join(PATIENCE_SECONDS)


def test_a_question_that_an_ending_owner_did_not_take_is_asked_again_under_the_same_id(home: Path) -> None:
    foreground = ServedHere()
    with owner_that_ends(home, reply=b"") as received:
        assert asked(home, foreground) == (0, "hello\n", "")
    (request,) = foreground.control.asked
    assert request.request.encode() in received[0]


def test_a_question_that_was_taken_is_never_asked_again(home: Path) -> None:
    foreground = ServedHere()
    with owner_that_ends(home, reply=b'{"id": "1", "event": {"type": "accepted", "turn": 5}}\n'):
        status, out, err = asked(home, foreground)
    assert (status, out) == (1, "")
    assert err == (
        "fermix: The request was interrupted and will not be run again. "
        "The daemon closed the connection before it had answered.\n"
    )
    assert foreground.owned == 0


@pytest.mark.parametrize(("named", "status"), [("absolute", 0), ("relative", 1)])
def test_a_folder_that_is_gone_matters_only_to_a_relative_home(
    home: Path, daemon: ScriptedControl, tmp_path: Path, named: str, status: int
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && {' '.join(PROGRAM)} ask hello"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**environment(home), "FERMIX_HOME": str(home) if named == "absolute" else "home"},
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == status
    assert (b"does not exist any more" in done.stderr) is bool(status)

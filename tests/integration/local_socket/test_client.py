"""The blocking client against the real server, and against what is no Fermix server at all."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fermix.application.ports.control import AskEnd, AskEnded, AskRequest
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.asking import (
    Accepted,
    Ended,
    Ending,
    Part,
    Question,
    TextDelta,
    TurnStarted,
)
from fermix.infrastructure.local_socket.client import (
    ConnectionLost,
    DeadlinePassed,
    Denied,
    ForeignProtocol,
    Hangs,
    NoDaemon,
    OutputClosed,
    Refused,
    RequestTooLarge,
    connect,
)
from fermix.infrastructure.local_socket.daemon_file import DaemonFile, write_daemon_file
from fermix.infrastructure.local_socket.limits import SocketLimits
from fermix.infrastructure.local_socket.place import make_private, socket_place
from fermix.infrastructure.local_socket.protocol import Verb
from tests.integration.local_socket.raw_client import holding
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    ScriptedControl,
    served,
)

QUESTION = Question(request="r-1", text="hello")


@contextmanager
def stranger(path: Path, behave: Callable[[socket.socket], None]) -> Iterator[None]:
    """A server that is none of ours, for one connection."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                behave(connection)

        thread = threading.Thread(target=run)
        thread.start()
        yield
        thread.join(PATIENCE_SECONDS)


def test_an_ask_yields_its_events_and_ends(tmp_path: Path) -> None:
    with served(tmp_path / "daemon.sock", ScriptedControl()), connect(tmp_path) as client:
        events = list(client.ask(QUESTION))
    assert events == [
        Accepted(7),
        TurnStarted("openai", "gpt-test"),
        TextDelta("hel"),
        TextDelta("lo"),
        Part("hello"),
        Ended(end=Ending.ANSWERED, text="hello", outcome="completed", provider="openai", model="gpt-test"),
    ]


def test_the_question_arrives_whole(tmp_path: Path) -> None:
    control = ScriptedControl()
    question = Question("r-9", "what? \ud800 \0", "notes", new=True, model="openai/x", cwd="/tmp", user="ada")
    with served(tmp_path / "daemon.sock", control), connect(tmp_path) as client:
        list(client.ask(question))
    assert control.asked == [AskRequest(**question._asdict())]


def test_one_million_characters_go_both_ways(tmp_path: Path) -> None:
    text = "ü\U0001f600\n" * 333_333
    control = ScriptedControl(script=lambda request: [AskEnded(end=AskEnd.ANSWERED, text=request.text)])
    with served(tmp_path / "daemon.sock", control), connect(tmp_path) as client:
        assert list(client.ask(QUESTION._replace(text=text))) == [Ended(Ending.ANSWERED, text)]


def test_identity_status_and_health_are_looked_up(tmp_path: Path) -> None:
    with served(tmp_path / "daemon.sock", ScriptedControl()), connect(tmp_path) as client:
        assert queries.identify(client).pid == os.getpid()
        assert queries.status(client).http_port == 4030
        assert queries.health(client).failures == ("telegram",)


def test_stop_is_passed_on(tmp_path: Path) -> None:
    control = ScriptedControl()
    with served(tmp_path / "daemon.sock", control), connect(tmp_path) as client:
        client.stop()
        assert control.stopped.is_set()


def test_leaving_in_mid_ask_cancels_the_turn(tmp_path: Path) -> None:
    control = ScriptedControl(script=holding)
    with served(tmp_path / "daemon.sock", control):
        with connect(tmp_path) as client:
            assert next(client.ask(QUESTION)) == Accepted(None)
        assert control.cancelled.wait(PATIENCE_SECONDS)


def test_a_deadline_ends_the_wait(tmp_path: Path) -> None:
    control = ScriptedControl(script=holding)
    with served(tmp_path / "daemon.sock", control):
        with connect(tmp_path) as client, pytest.raises(DeadlinePassed):
            list(client.ask(QUESTION, deadline=time.monotonic() + 0.05))
        assert control.cancelled.wait(PATIENCE_SECONDS)


def test_an_output_nobody_reads_ends_the_wait(tmp_path: Path) -> None:
    control = ScriptedControl(script=holding)
    reader, writer = os.pipe()
    with served(tmp_path / "daemon.sock", control), connect(tmp_path) as client:
        events = client.ask(QUESTION, output=writer)
        assert next(events) == Accepted(None)
        os.close(reader)
        with pytest.raises(OutputClosed):
            next(events)
    os.close(writer)


def test_a_home_without_a_daemon_has_none(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon):
        connect(tmp_path)
    with pytest.raises(NoDaemon):
        connect(tmp_path / "missing")


def test_a_socket_left_by_a_dead_daemon_is_none(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "daemon.sock"))
    with pytest.raises(NoDaemon):
        connect(tmp_path)


def test_a_long_home_is_reached_through_the_file_that_names_its_socket(tmp_path: Path) -> None:
    home = tmp_path / ("h" * 120)
    home.mkdir()
    place = socket_place(home, tmp_path, os.getuid())
    assert place.private_folder is not None
    make_private(place.private_folder, os.getuid())
    write_daemon_file(home, DaemonFile("instance-1", 4, os.getpid(), str(place.path)))
    with served(place.path, ScriptedControl()), connect(home) as client:
        assert queries.identify(client).epoch == 4
    with pytest.raises(NoDaemon):
        connect(home)


def test_a_named_socket_in_a_folder_of_everybody_is_not_trusted(tmp_path: Path) -> None:
    home, shared = tmp_path / "home", tmp_path / "shared"
    home.mkdir()
    shared.mkdir()
    shared.chmod(0o777)
    write_daemon_file(home, DaemonFile("instance-1", 4, os.getpid(), str(shared / "s")))
    with served(shared / "s", ScriptedControl()), pytest.raises(Denied, match="0700"):
        connect(home)


def test_another_users_call_is_denied(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with (
        served(path, ScriptedControl(), owner_uid=os.getuid() + 1),
        connect(tmp_path) as client,
        pytest.raises(Denied),
    ):
        client.stop()


def test_a_request_longer_than_a_line_never_leaves(tmp_path: Path) -> None:
    control = ScriptedControl()
    with (
        served(tmp_path / "daemon.sock", control),
        connect(tmp_path) as client,
        pytest.raises(RequestTooLarge),
    ):
        list(client.ask(QUESTION._replace(text="\x01" * 1_000_000)))
    assert control.asked == []


def test_a_refusal_carries_its_code(tmp_path: Path) -> None:
    with served(tmp_path / "daemon.sock", ScriptedControl()), connect(tmp_path) as client:
        with pytest.raises(Refused) as refused:
            list(client.ask(QUESTION._replace(session=" ")))
        assert refused.value.code == "bad_request"


def test_a_full_server_says_so(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with (
        served(path, ScriptedControl(), limits=SocketLimits(connections=1)),
        connect(tmp_path) as first,
    ):
        queries.identify(first)
        with connect(tmp_path) as second, pytest.raises(Refused, match="too many"):
            list(second.ask(QUESTION._replace(text="x" * 900_000)))


def test_a_server_that_dies_in_mid_ask_is_a_lost_connection(tmp_path: Path) -> None:
    control = ScriptedControl(script=holding)
    with served(tmp_path / "daemon.sock", control):
        client = connect(tmp_path)
        events = client.ask(QUESTION)
        assert next(events) == Accepted(None)
    with client, pytest.raises(ConnectionLost):
        next(events)


@pytest.mark.parametrize(
    "line",
    [
        b"hello, who is there?\n",
        b"\xff\n",
        b"{}\n",
        b'{"id": "2", "result": {}}\n',
        b'{"id": "1", "result": 3}\n',
        b'{"id": "1", "event": {}}\n',
        b'{"id": "1", "event": {"type": "text_delta"}}\n',
        b'{"id": "1", "result": {"end": "perhaps", "text": ""}}\n',
    ],
)
def test_a_server_that_speaks_otherwise_is_told_apart(tmp_path: Path, line: bytes) -> None:
    def behave(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(line)

    with (
        stranger(tmp_path / "daemon.sock", behave),
        connect(tmp_path) as client,
        pytest.raises(ForeignProtocol),
    ):
        list(client.ask(QUESTION))


def test_a_server_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    done = threading.Event()

    def behave(connection: socket.socket) -> None:
        done.wait(PATIENCE_SECONDS)

    with stranger(tmp_path / "daemon.sock", behave), connect(tmp_path) as client:
        with pytest.raises(Hangs, match="did not answer"):
            client.call(Verb.IDENTIFY, seconds=0.05)
        done.set()


def test_waiting_for_the_end_of_a_connection_is_bounded(tmp_path: Path) -> None:
    with served(tmp_path / "daemon.sock", ScriptedControl()):
        client = connect(tmp_path)
        assert not client.wait_closed(0.02)
    with client:
        assert client.wait_closed(PATIENCE_SECONDS)

"""The control socket's server against raw clients that behave."""

import os
import socket
import stat
from contextlib import ExitStack
from pathlib import Path

import pytest

from fermix.application.ports.control import AskAccepted, AskEnded, PrincipalCapability
from fermix.infrastructure.local_socket.limits import SocketLimits
from fermix.infrastructure.local_socket.protocol import VERSION
from fermix.infrastructure.local_socket.server import SocketUnavailable
from tests.integration.local_socket.raw_client import ASK, holding, raw_client, still_answers
from tests.integration.local_socket.scripted_control import PATIENCE_SECONDS, ScriptedControl, served


def test_the_socket_is_private_and_goes_with_its_server(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "s"
    with served(path, ScriptedControl(), backend=backend):
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


def test_several_requests_are_answered_one_after_another_on_one_connection(
    tmp_path: Path, backend: str
) -> None:
    control = ScriptedControl()
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send("identify", request_id="a")
        client.send("status", request_id="b")
        client.send("health", request_id="c")
        client.send("ask", ASK, request_id="d")
        replies = [client.read() for _ in "abc"]
        ended = client.read_end()
        client.send("stop", request_id="e")
        stopped = client.read()
    assert [reply["id"] for reply in replies] == ["a", "b", "c"]
    assert replies[0]["result"]["instance"] == "instance-1"
    assert replies[0]["result"]["protocol"] == VERSION
    assert replies[1]["result"]["waiting"] == 2
    assert replies[2]["result"]["failures"] == ["telegram"]
    assert (ended["id"], ended["result"]["text"]) == ("d", "hello")
    assert stopped == {"id": "e", "result": {}}
    assert control.stopped.is_set()


def test_an_ask_streams_its_events_in_order(tmp_path: Path, backend: str) -> None:
    with served(tmp_path / "s", ScriptedControl(), backend=backend), raw_client(tmp_path / "s") as client:
        client.send("ask", ASK)
        events = []
        while "event" in (reply := client.read()):
            events.append(reply["event"])
    assert [event["type"] for event in events] == [
        "accepted",
        "turn_started",
        "text_delta",
        "text_delta",
        "part",
    ]
    assert [event["number"] for event in events if "number" in event] == [1, 2, 3]


def test_the_peer_the_kernel_names_becomes_the_principal(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl()
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send("ask", ASK)
        client.read_end()
    (principal,) = control.principals
    assert (principal.uid, principal.pid) == (os.getuid(), os.getpid())
    assert principal.capabilities == frozenset(PrincipalCapability)


def test_a_client_that_leaves_cancels_its_turn(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl(script=holding)
    with served(tmp_path / "s", control, backend=backend):
        with raw_client(tmp_path / "s") as client:
            client.send("ask", ASK)
            assert control.holding.wait(PATIENCE_SECONDS)
        assert control.cancelled.wait(PATIENCE_SECONDS)


def test_a_cancelled_turn_is_told_and_the_connection_goes_on(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl(script=holding)
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send("ask", ASK, request_id="a")
        assert control.holding.wait(PATIENCE_SECONDS)
        client.send("cancel", {"id": "a"}, request_id="b")
        ended = client.read_end()
        assert control.cancelled.wait(PATIENCE_SECONDS)
        client.send("cancel", {"id": "a"}, request_id="c")
        client.send("identify", request_id="d")
        assert client.read()["id"] == "d"
    assert (ended["id"], ended["error"]["code"]) == ("a", "cancelled")


def test_another_request_during_an_ask_is_told_that_the_connection_is_busy(
    tmp_path: Path, backend: str
) -> None:
    control = ScriptedControl(script=holding)
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send("ask", ASK, request_id="a")
        assert control.holding.wait(PATIENCE_SECONDS)
        client.send("status", request_id="b")
        client.send("cancel", {"id": "another"}, request_id="c")
        assert client.read()["event"]["type"] == "accepted"
        busy = [client.read(), client.read()]
    assert [(reply["id"], reply["error"]["code"]) for reply in busy] == [("b", "busy"), ("c", "busy")]


def test_a_quiet_ask_says_that_it_is_alive(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl(script=holding)
    limits = SocketLimits(alive_seconds=0.01)
    with (
        served(tmp_path / "s", control, limits=limits, backend=backend),
        raw_client(tmp_path / "s") as client,
    ):
        client.send("ask", ASK)
        events = [client.read()["event"]["type"] for _ in range(3)]
    assert events == ["accepted", "alive", "alive"]


def test_a_turn_that_breaks_off_without_an_end_is_an_error(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl(script=lambda _: [AskAccepted(turn=None)])
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send("ask", ASK)
        assert client.read_end()["error"]["code"] == "internal"


def test_a_socket_left_by_a_dead_owner_is_replaced(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert path.exists()
    with served(path, ScriptedControl(), backend=backend):
        still_answers(path)


def test_a_file_in_the_sockets_place_is_left_alone_and_named(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "s"
    path.write_text("mine")
    with pytest.raises(SocketUnavailable, match=str(path)), served(path, ScriptedControl(), backend=backend):
        pass
    assert path.read_text() == "mine"


def test_a_server_that_ends_leaves_its_successors_socket_alone(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "s"
    with served(path, ScriptedControl(), backend=backend):
        path.unlink()
        path.write_text("the next one")
    assert path.read_text() == "the next one"


def test_an_end_of_the_server_in_mid_ask_cancels_the_turn_and_closes(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl(script=holding)
    with ExitStack() as stack:
        with served(tmp_path / "s", control, backend=backend):
            client = stack.enter_context(raw_client(tmp_path / "s"))
            client.send("ask", ASK)
            assert control.holding.wait(PATIENCE_SECONDS)
        assert client.read()["event"]["type"] == "accepted"
        assert client.read() is None
    assert control.cancelled.is_set()


def test_ended_is_a_result_and_not_an_event(tmp_path: Path, backend: str) -> None:
    with served(tmp_path / "s", ScriptedControl(), backend=backend), raw_client(tmp_path / "s") as client:
        client.send("ask", ASK)
        ended = client.read_end()["result"]
    assert set(ended) == set(AskEnded.__slots__)

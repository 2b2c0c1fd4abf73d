"""The control socket's server against raw clients that are slow, foreign, too many or talk rubbish."""

import os
import resource
import select
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fermix.application.ports.control import AskEnd, AskEnded, AskRequest
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.domain.events import TextDelta
from fermix.infrastructure.local_socket.limits import SocketLimits
from fermix.infrastructure.local_socket.protocol import MAX_LINE_BYTES
from tests.integration.local_socket.raw_client import ASK, holding, raw_client, still_answers
from tests.integration.local_socket.scripted_control import (
    PATIENCE_SECONDS,
    ScriptedControl,
    Step,
    progress,
    served,
)


def test_another_user_is_denied_and_nothing_is_asked(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl()
    with (
        served(tmp_path / "s", control, owner_uid=os.getuid() + 1, backend=backend),
        raw_client(tmp_path / "s") as client,
    ):
        assert client.read()["error"]["code"] == "denied"
        assert client.read() is None
    assert control.asked == []


def test_rubbish_in_the_middle_of_an_ask_ends_both(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl(script=holding)
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send("ask", ASK)
        assert control.holding.wait(PATIENCE_SECONDS)
        client.connection.sendall(b"rubbish\n")
        assert client.read_end()["error"]["code"] == "bad_request"
        assert client.read() is None
        assert control.cancelled.wait(PATIENCE_SECONDS)


def test_an_answer_longer_than_a_line_is_an_error_and_the_server_lives(tmp_path: Path, backend: str) -> None:
    def endless(request: AskRequest) -> list[Step]:
        text = "x" * (MAX_LINE_BYTES + 1)
        return [progress(1, TextDelta(text=text)), AskEnded(end=AskEnd.ANSWERED, text=text)]

    with served(tmp_path / "s", ScriptedControl(script=endless), backend=backend):
        with raw_client(tmp_path / "s") as client:
            client.send("ask", ASK)
            assert client.read()["error"]["code"] == "too_large"
        still_answers(tmp_path / "s")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"not json\n", "bad_request"),
        (b"\xff\xfe\n", "bad_request"),
        (b"\x00" * 100 + b"\n", "bad_request"),
        (bytes(range(256)) * 50 + b"\n", "bad_request"),
        (b"\n", "bad_request"),
        (b"[" * 500_000 + b"\n", "bad_request"),
        (b'{"id": "1"}\n', "bad_request"),
        (b"x" * (5 * 1024 * 1024) + b"\n", "too_large"),
        (b"x" * (5 * 1024 * 1024), "too_large"),
        (b'{"id": "1", "verb": "ask", "version": "2.0", "params": {}}\n', "unsupported_version"),
        (b"GET / HTTP/1.1\r\n\r\n", "bad_request"),
    ],
)
def test_rubbish_gets_a_clear_error_the_connection_ends_and_the_server_lives(
    tmp_path: Path, backend: str, sent: bytes, code: str
) -> None:
    with served(tmp_path / "s", ScriptedControl(), backend=backend):
        with raw_client(tmp_path / "s") as client:
            client.connection.sendall(sent)
            assert client.read()["error"]["code"] == code
            assert client.read() is None
        still_answers(tmp_path / "s")


def test_a_line_without_an_end_is_told(tmp_path: Path, backend: str) -> None:
    with served(tmp_path / "s", ScriptedControl(), backend=backend), raw_client(tmp_path / "s") as client:
        client.connection.sendall(b'{"id"')
        client.connection.shutdown(socket.SHUT_WR)
        assert client.read()["error"]["code"] == "bad_request"


@pytest.mark.parametrize(
    ("verb", "params", "code"),
    [("dance", {}, "unknown_verb"), ("ask", {**ASK, "text": " "}, "bad_request"), ("ask", {}, "bad_request")],
)
def test_a_request_that_makes_no_sense_is_told_and_the_connection_goes_on(
    tmp_path: Path, backend: str, verb: str, params: Any, code: str
) -> None:
    with served(tmp_path / "s", ScriptedControl(), backend=backend), raw_client(tmp_path / "s") as client:
        client.send(verb, params, request_id="a")
        assert client.read()["error"]["code"] == code
        client.send("identify", request_id="b")
        assert client.read()["id"] == "b"


def test_who_does_not_ask_in_time_is_let_go(tmp_path: Path, backend: str) -> None:
    limits = SocketLimits(first_request_seconds=0.05)
    with (
        served(tmp_path / "s", ScriptedControl(), limits=limits, backend=backend),
        raw_client(tmp_path / "s") as client,
    ):
        client.connection.sendall(b'{"id": ')
        assert "within" in client.read()["error"]["message"]
        assert client.read() is None


def test_who_has_nothing_more_to_ask_is_let_go(tmp_path: Path, backend: str) -> None:
    limits = SocketLimits(idle_seconds=0.05)
    with (
        served(tmp_path / "s", ScriptedControl(), limits=limits, backend=backend),
        raw_client(tmp_path / "s") as client,
    ):
        client.send("identify")
        assert "result" in client.read()
        assert "error" in client.read()
        assert client.read() is None


def test_one_connection_too_many_is_told_and_a_free_place_is_used_again(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "s"
    limits = SocketLimits(connections=2)
    with (
        served(path, ScriptedControl(), limits=limits, backend=backend),
        raw_client(path) as first,
        raw_client(path) as second,
    ):
        for client in (first, second):
            client.send("identify")
            assert "result" in client.read()
        with raw_client(path) as third:
            assert third.read()["error"]["code"] == "unavailable"
            assert third.read() is None
        first.connection.shutdown(socket.SHUT_WR)
        assert first.read() is None
        still_answers(path)


def test_a_client_that_does_not_read_is_closed_and_its_turn_cancelled(tmp_path: Path, backend: str) -> None:
    def flood(request: AskRequest) -> list[Step]:
        return [progress(number, TextDelta(text="x" * 100_000)) for number in range(1, 100)]

    control = ScriptedControl(script=flood)
    limits = SocketLimits(write_seconds=0.1)
    with (
        served(tmp_path / "s", control, limits=limits, backend=backend),
        raw_client(tmp_path / "s") as client,
    ):
        client.send("ask", ASK)
        poll = select.poll()
        poll.register(client.connection, select.POLLHUP)
        happened = poll.poll(PATIENCE_SECONDS * 1000)
        assert happened[0][1] & select.POLLHUP
        still_answers(tmp_path / "s")


def test_a_process_without_free_descriptors_answers_when_it_has_some_again(tmp_path: Path) -> None:
    path = tmp_path / "s"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with served(path, ScriptedControl()), ExitStack() as stack:
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.settimeout(PATIENCE_SECONDS)
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        fillers = fill_descriptors()
        try:
            connection.connect(str(path))
            connection.sendall(b'{"id": "1", "verb": "identify", "version": "1.0", "params": {}}\n')
            poll = select.poll()
            poll.register(connection, select.POLLIN)
            assert poll.poll(50) == []
        finally:
            for filler in fillers:
                os.close(filler)
        assert b"instance-1" in connection.recv(65536)


def fill_descriptors() -> list[int]:
    fillers: list[int] = []
    try:
        while True:
            fillers.append(os.dup(0))
    except OSError:
        return fillers


def test_a_ledger_that_cannot_be_used_now_is_told_and_the_server_lives(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl(ledger=LedgerUnavailable("locked"))
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send("status", request_id="a")
        assert client.read()["error"]["code"] == "unavailable"
        client.send("ask", ASK, request_id="b")
        assert client.read()["result"]["end"] == "unavailable"
        still_answers(tmp_path / "s")

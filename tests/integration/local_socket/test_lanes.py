"""The verbs about conversations and queues: served whole, refused where wrong, and told by an older daemon."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typing_extensions import override

from fermix.application.ports.lane_control import QueueReport, ResolveRequest, ResolveWork
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ControlClient, ForeignProtocol, Refused, connect
from tests.integration.local_socket.raw_client import raw_client, still_answers
from tests.integration.local_socket.scripted_control import (
    DONE,
    PATIENCE_SECONDS,
    ScriptedControl,
    ScriptedLanes,
    served,
)

REQUEST = ResolveRequest(request="r-1", work=ResolveWork.RETRY)


@contextmanager
def saying(path: Path, reply: dict[str, object]) -> Iterator[None]:
    """A server that answers one request, whatever it is."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def run() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as lines:
                lines.readline()
                lines.write(json.dumps({"id": "1", **reply}).encode() + b"\n")

        thread = threading.Thread(target=run)
        thread.start()
        yield
        thread.join(PATIENCE_SECONDS)


def test_a_request_to_resolve_is_answered_and_the_connection_goes_on(tmp_path: Path, backend: str) -> None:
    control = ScriptedControl()
    with (
        served(tmp_path / "daemon.sock", control, backend=backend),
        connect(tmp_path) as client,
    ):
        assert queries.sessions(client, limit=3) == ()
        assert queries.resolve(client, REQUEST) == DONE
        assert queries.queue(client).listing == control.lanes.listing
    assert control.lanes.requests == [REQUEST]


@pytest.mark.parametrize(
    ("verb", "params"),
    [
        ("sessions", {}),
        ("sessions", {"limit": 0}),
        ("resolve", {}),
        ("resolve", {"request": "r", "work": "burn"}),
    ],
)
def test_a_wrong_parameter_is_refused_and_the_connection_goes_on(
    tmp_path: Path, backend: str, verb: str, params: dict[str, object]
) -> None:
    control = ScriptedControl()
    with served(tmp_path / "s", control, backend=backend), raw_client(tmp_path / "s") as client:
        client.send(verb, params, request_id="a")
        assert client.read()["error"]["code"] == "bad_request"
        client.send("queue", request_id="b")
        assert client.read()["result"]["turns"] == []
    assert control.lanes.requests == []


def test_a_client_of_the_first_protocol_version_is_still_served(tmp_path: Path, backend: str) -> None:
    with served(tmp_path / "s", ScriptedControl(), backend=backend):
        still_answers(tmp_path / "s")


def test_a_ledger_that_cannot_be_used_is_told(tmp_path: Path, backend: str) -> None:
    class Closed(ScriptedLanes):
        @override
        async def queue(self) -> QueueReport:
            raise LedgerUnavailable("closed")

    control = ScriptedControl(lanes=Closed())
    with served(tmp_path / "daemon.sock", control, backend=backend), connect(tmp_path) as client:
        with pytest.raises(Refused, match="ledger") as refused:
            queries.queue(client)
        assert refused.value.code == "unavailable"


@pytest.mark.parametrize("verb", ["sessions", "queue", "resolve", "refused"])
def test_a_daemon_that_lacks_the_verb_is_called_older(tmp_path: Path, verb: str) -> None:
    error = {"code": "unknown_verb", "message": "Verbs are identify, status."}
    with saying(tmp_path / "daemon.sock", {"error": error}), connect(tmp_path) as client:
        with pytest.raises(Refused, match="older than this command") as refused:
            ask(verb, client)
        assert refused.value.code == "unknown_verb"


@pytest.mark.parametrize("verb", ["sessions", "queue", "resolve", "refused"])
def test_an_answer_that_is_none_is_a_foreign_protocol(tmp_path: Path, verb: str) -> None:
    with (
        saying(tmp_path / "daemon.sock", {"result": {"end": "maybe"}}),
        connect(tmp_path) as client,
        pytest.raises(ForeignProtocol, match="not understood"),
    ):
        ask(verb, client)


def ask(verb: str, client: ControlClient) -> object:
    match verb:
        case "sessions":
            return queries.sessions(client, limit=3)
        case "queue":
            return queries.queue(client)
        case "refused":
            return queries.refused(client)
        case _:
            return queries.resolve(client, REQUEST)

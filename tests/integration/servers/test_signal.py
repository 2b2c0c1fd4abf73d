"""The fake signal-cli refuses what signal-cli refuses; its program is started and spoken to line by line."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import IO, Any

import pytest

from fermix.testing.servers.signal_cli.records import ACCOUNT, OLGA, uuid_of
from fermix.testing.servers.signal_cli.server import SignalServer, signal_server
from tests.integration.servers.plain import SECONDS

RPC = ("-a", ACCOUNT, "jsonRpc", "--receive-mode", "manual")


class Program:
    """A program that runs, with its lines."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        assert running.stdin is not None
        assert running.stdout is not None
        self.running = running
        self._typed: IO[str] = running.stdin
        self._told: IO[str] = running.stdout

    def asks(self, method: str, **params: Any) -> Any:
        """One call; its answer's result or error."""
        self._typed.write(
            json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}) + "\n"
        )
        self._typed.flush()
        answer = self.hears()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", method)
        return answer.get("result", answer.get("error"))

    def hears(self) -> Any:
        return json.loads(self._told.readline())


@pytest.fixture
def server() -> Iterator[SignalServer]:
    with signal_server() as opened:
        yield opened


@contextmanager
def started(server: SignalServer, *words: str) -> Iterator[Program]:
    with subprocess.Popen(
        [str(server.program), *words],
        env=server.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        limit = Timer(SECONDS, running.kill)
        limit.start()
        try:
            yield Program(running)
        finally:
            limit.cancel()
            running.kill()


def ended(server: SignalServer, words: Sequence[str], typed: str = "") -> tuple[int, str, str]:
    """How the program ends by itself, and what it says."""
    done = subprocess.run(
        [str(server.program), *words],
        check=False,
        env=server.environment,
        input=typed,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout, done.stderr


def test_calls_are_answered_and_wrong_ones_refused_with_their_codes(server: SignalServer) -> None:
    with started(server, *RPC) as program:
        assert program.asks("version") == {"version": "0.13.19"}
        assert program.asks("sendTelegram")["code"] == -32601
        assert program.asks("unsubscribeReceive", subscription=3)["code"] == -1
        assert program.asks("send", recipient=[OLGA])["code"] == -1
        sent = program.asks("send", recipient=[OLGA], message="hello")
    assert sent["results"][0]["type"] == "SUCCESS"
    assert [(each.text, each.place) for each in server.sent] == [("hello", OLGA)]


def test_what_people_write_is_told_after_subscribing_and_not_after_unsubscribing(
    server: SignalServer,
) -> None:
    server.writes("before")
    with started(server, *RPC) as program:
        subscription = program.asks("subscribeReceive")
        told = program.hears()
        assert told["method"] == "receive"
        assert told["params"]["subscription"] == subscription
        envelope = told["params"]["result"]["envelope"]
        assert (envelope["sourceUuid"], envelope["dataMessage"]["message"]) == (uuid_of(OLGA), "before")
        program.asks("unsubscribeReceive", subscription=subscription)
        server.writes("after")
        assert program.asks("version") == {"version": "0.13.19"}


def test_a_second_process_waits_for_the_account(server: SignalServer) -> None:
    with started(server, *RPC) as first:
        assert first.asks("version")
        with started(server, *RPC) as second:
            assert second.running.stderr is not None
            assert "in use by another instance" in second.running.stderr.readline()
            first.running.kill()
            assert "lock acquired" in second.running.stderr.readline()
            assert second.asks("version")


def test_an_account_that_is_not_registered_ends_the_program(server: SignalServer) -> None:
    server.is_registered = False
    code, _, told = ended(server, RPC)
    assert (code, f"User {ACCOUNT} is not registered." in told) == (1, True)


def test_commands_say_with_their_code_how_they_ended(server: SignalServer) -> None:
    send = ("-a", ACCOUNT, "send", "--message-from-stdin", OLGA)
    assert ended(server, send, "hello")[0] == 0
    assert server.sent[0].text == "hello"
    assert ended(server, send)[0] == 1
    server.goes_away()
    code, _, told = ended(server, send, "hello")
    assert (code, "UnknownHostException" in told) == (3, True)
    server.comes_back()
    assert ended(server, send, "again")[0] == 0

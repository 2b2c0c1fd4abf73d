"""A Parley server on the loopback interface, with its people, as a test directs it.

It keeps the limits and errors of the real one, and lets a test break the line at any place. It runs in threads of
its own, so that it serves a daemon in another process just as well as an adapter in this one.
"""

import json
import select
import socket
import socketserver
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from typing_extensions import override

MAX_TEXT = 1000
MAX_LINE = 1024 * 1024
_LOOK_EVERY = 0.01
_ANSWER_AFTER = 30.0


class Fault(StrEnum):
    """What becomes of the next message of the bot."""

    TOO_FAST = "too_fast"
    NOT_WANTED = "not_wanted"
    NO_SUCH_ROOM = "no_such_room"
    DROPPED = "dropped"
    GARBLED = "garbled"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message of the bot, as people see it."""

    number: int
    room: str
    topic: str | None
    text: str


class ParleyServer:
    """The server and its people. Its methods may be called from any thread.

    Attributes:
        acknowledged: the number up to which the bot has acknowledged.
        tries: how often the bot tried to say something.
        stalled: how many requests of the bot wait for an answer that does not come.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self.port = 0
        self.acknowledged = 0
        self.tries = 0
        self.stalled = 0
        self._refuses = False
        self._numbers = 0
        self._written: list[tuple[int, Any]] = []
        self._said: list[Said] = []
        self._faults: deque[tuple[Fault, int]] = deque()
        self._lines: set[socket.socket] = set()
        self._listener: _Listener | None = None
        self._thread = threading.Thread()
        self._changed = threading.Condition()

    def writes(
        self, text: str, *, nickname: str = "ann", room: str = "ann", facts: Mapping[str, Any] | None = None
    ) -> int:
        """Somebody writes a message; `facts` are further fields of it, or other values for some. Its number."""
        with self._changed:
            number = self._next()
            entry = {
                "number": number,
                "from": {"nickname": nickname, "name": nickname.capitalize()},
                "room": {"id": room, "title": None},
                "topic": None,
                "text": text,
                "at": 1_790_000_000 + number,
                **(facts or {}),
            }
            self._written.append((number, entry))
            self._changed.notify_all()
            return number

    def offers(self, entry: object) -> None:
        """The server offers something that is no message."""
        with self._changed:
            self._written.append((self._next(), entry))
            self._changed.notify_all()

    @property
    def said(self) -> list[Said]:
        """What the bot has said."""
        with self._changed:
            return list(self._said)

    def wait_until(self, holds: Callable[[], object], *, seconds: float = 10.0) -> None:
        """Block until that holds.

        Raises:
            TimeoutError: it does not within the time.
        """
        with self._changed:
            if not self._changed.wait_for(holds, timeout=seconds):
                raise TimeoutError(f"not within {seconds:g} s")

    def fault(self, fault: Fault, *, wait: int = 7) -> None:
        """Arrange what becomes of the next message of the bot."""
        with self._changed:
            self._faults.append((fault, wait))

    def refuses(self) -> None:
        """The token is not good any more."""
        with self._changed:
            self._refuses = True
            self._changed.notify_all()

    def goes_away(self) -> None:
        """Nobody listens any more, and every open line breaks."""
        if self._listener is None:
            return
        listener, self._listener = self._listener, None
        listener.shutdown()
        listener.server_close()
        self._thread.join()
        with self._changed:
            for line in self._lines:
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
            self._changed.notify_all()

    def comes_back(self) -> None:
        """Listen again, at the same port."""
        if self._listener is None:
            self._listener = _Listener(("127.0.0.1", self.port), self)
            self.port = self._listener.server_address[1]
            self._thread = threading.Thread(target=self._listener.serve_forever, args=(_LOOK_EVERY,))
            self._thread.start()

    @property
    def open_lines(self) -> int:
        """How many lines the bot holds open."""
        with self._changed:
            return sum(not _is_left(line) for line in self._lines)

    def serve(self, line: socket.socket) -> None:
        """Answer the one request of a line."""
        with self._changed:
            self._lines.add(line)
        try:
            with line.makefile("rb") as reader:
                request = json.loads(reader.readline(MAX_LINE))
            answer = self._answer(request, line)
            if answer is not None:
                line.sendall(answer + b"\n")
        except (OSError, ValueError):
            pass  # the bot left in the middle
        finally:
            with self._changed:
                self._lines.discard(line)
                self._changed.notify_all()

    def _answer(self, request: Mapping[str, Any], line: socket.socket) -> bytes | None:
        with self._changed:
            if self._refuses or request["token"] != self.token:
                return _json({"refused": "unknown_token"})
            if request["do"] == "listen":
                return self._listen(request["after"], line)
            return self._say(request, line)

    def _listen(self, after: int | None, line: socket.socket) -> bytes | None:
        self.acknowledged = max(self.acknowledged, after or 0)
        start = self.acknowledged
        self._changed.notify_all()
        self._hold(line, lambda: self._numbers > start or self._refuses, seconds=_ANSWER_AFTER)
        if self._refuses:
            return _json({"refused": "unknown_token"})
        entries = [entry for number, entry in self._written if number > start]
        return _json({"messages": entries, "after": self._numbers})

    def _say(self, request: Mapping[str, Any], line: socket.socket) -> bytes | None:
        self.tries += 1
        fault, wait = self._faults.popleft() if self._faults else (None, 0)
        match fault:
            case Fault.TOO_FAST:
                return _json({"refused": fault, "wait": wait})
            case Fault.NOT_WANTED | Fault.NO_SUCH_ROOM:
                return _json({"refused": fault})
            case Fault.STALLED:
                self.stalled += 1
                self._changed.notify_all()
                self._hold(line, lambda: False, seconds=60.0)
                self.stalled -= 1
                return None
            case _ if len(request["text"]) > MAX_TEXT:
                return _json({"refused": "too_long"})
        said = Said(number=self._next(), room=request["room"], topic=request["topic"], text=request["text"])
        self._said.append(said)
        self._changed.notify_all()
        if fault is Fault.DROPPED:
            return None
        return b"\x00 no answer" if fault is Fault.GARBLED else _json({"number": said.number})

    def _hold(self, line: socket.socket, until: Callable[[], bool], *, seconds: float) -> None:
        """Keep a line waiting; it ends early when whoever asked has left."""
        for _ in range(int(seconds / _LOOK_EVERY)):
            if until() or _is_left(line):
                return
            self._changed.wait(_LOOK_EVERY)

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], parley: ParleyServer) -> None:
        self._parley = parley
        super().__init__(address, socketserver.BaseRequestHandler)

    @override
    def finish_request(self, request: Any, client_address: Any) -> None:
        self._parley.serve(request)


def _is_left(line: socket.socket) -> bool:
    """Whether the other side has closed, or broken, its line."""
    try:
        readable, _, _ = select.select([line], [], [], 0)
        return bool(readable) and line.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True


def _json(answer: Mapping[str, Any]) -> bytes:
    return json.dumps(answer).encode()


@contextmanager
def parley_server(token: str) -> Generator[ParleyServer]:
    """A server that listens while the block lasts, at the port that it names."""
    server = ParleyServer(token)
    server.comes_back()
    try:
        yield server
    finally:
        server.goes_away()

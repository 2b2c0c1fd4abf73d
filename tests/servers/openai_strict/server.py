"""The server itself: real sockets, one thread per connection, answers from a script."""

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, assert_never
from uuid import uuid4

from typing_extensions import override

from tests.servers.openai_strict import chat, responses
from tests.servers.openai_strict.rules import WrongField
from tests.servers.openai_strict.script import (
    Answer,
    Call,
    Drop,
    Echo,
    EchoOrCall,
    Frames,
    Hang,
    Refuse,
    Say,
    answer_from_json,
)

_WIRES: dict[str, ModuleType] = {"/v1/chat/completions": chat, "/v1/responses": responses}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass(slots=True, kw_only=True)
class StrictServer:
    """The state behind a running server; tests read and extend it while it runs.

    A request that is not exactly what its wire documents gets a 400 naming the field, a wrong key a 401, an
    unknown model a 404. Right requests are answered by the next entry of `script`, or by `otherwise`.
    """

    base_url: str
    key: str | None = "test-key"
    model: str = "strict-1"
    otherwise: Answer = field(default_factory=Echo)
    script: deque[Answer] = field(default_factory=deque)
    requests: list[Recorded] = field(default_factory=list)
    reasoned: dict[str, str] = field(default_factory=dict)
    left: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    connections: int = 0
    busy: int = 0
    most_busy: int = 0
    counting: threading.Lock = field(default_factory=threading.Lock)

    def will(self, *answers: Answer) -> None:
        """Add answers to the script."""
        self.script.extend(answers)

    def next_answer(self) -> Answer:
        return self.script.popleft() if self.script else self.otherwise


@contextmanager
def strict_server(
    *answers: Answer, key: str | None = "test-key", model: str = "strict-1", port: int = 0
) -> Generator[StrictServer]:
    """Run a server on the loopback interface until left; `key=None` asks for none."""

    class Bound(_Handler):
        state = StrictServer(base_url="", key=key, model=model)

    with ThreadingHTTPServer(("127.0.0.1", port), Bound) as http:
        http.daemon_threads = True
        http.block_on_close = False
        Bound.state.base_url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        Bound.state.will(*answers)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield Bound.state
        finally:
            Bound.state.closing.set()
            http.shutdown()
            thread.join()


def _echo_or_call(answer: EchoOrCall, text: str, body: Any) -> Say:
    asked = body["messages"][-1]["role"] == "user"
    if asked and text.rpartition("\n")[2].startswith(answer.word):
        return Say(calls=(Call(id=f"call_{uuid4().hex[:12]}", name=answer.name, arguments="{}"),))
    return Say(text=f"You said: {text}")


class _ClientLeft(Exception):
    """The client closed its side."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: StrictServer

    @override
    def setup(self) -> None:
        super().setup()
        with self.state.counting:
            self.state.connections += 1

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Keep test output clean."""

    def do_GET(self) -> None:
        if self.path == "/_strict/requests":
            seen = [{"path": r.path, "headers": r.headers, "body": r.body} for r in self.state.requests]
            self._whole(200, seen)
        elif self.path == "/v1/models":
            self._whole(200, {"object": "list", "data": [{"id": self.state.model, "object": "model"}]})
        else:
            self._whole(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            body = json.loads(raw)
        except ValueError:
            self._whole(400, _error("the body is not JSON"))
            return
        if self.path == "/_strict/script":
            self.state.will(*(answer_from_json(item) for item in body))
            self._whole(200, {})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.state.requests.append(Recorded(path=self.path, headers=headers, body=body))
        try:
            self._judge(body, headers)
        except (_ClientLeft, ConnectionError):
            self.state.left.set()
            self.close_connection = True

    def _judge(self, body: Any, headers: dict[str, str]) -> None:
        wire = _WIRES.get(self.path)
        expected = None if self.state.key is None else f"Bearer {self.state.key}"
        if wire is None:
            self._whole(404, {"detail": "Not Found"})
        elif headers.get("authorization") != expected:
            self._whole(401, _error("Incorrect API key provided.", code="invalid_api_key"))
        else:
            self._answer(wire, body)

    def _answer(self, wire: ModuleType, body: Any) -> None:
        try:
            wire.check(body, self.state.reasoned)
        except WrongField as wrong:
            self._whole(400, _error(str(wrong), type="invalid_request_error"))
            return
        if body["model"] != self.state.model:
            self._whole(404, _error(f"The model `{body['model']}` does not exist.", code="model_not_found"))
            return
        answer = self.state.next_answer()
        match answer:
            case Say():
                wire.remember(answer, self.state.reasoned)
                with self._counted():
                    self._stream(wire.frames(answer, body), pause=answer.pause)
                self._end_body()
            case Echo():
                self._stream(wire.frames(Say(text=f"You said: {wire.last_user_text(body)}"), body))
                self._end_body()
            case EchoOrCall():
                self._stream(wire.frames(_echo_or_call(answer, wire.last_user_text(body), body), body))
                self._end_body()
            case Refuse():
                self._whole(answer.status, answer.body, dict(answer.headers))
            case Frames():
                self._frames(answer, wire)
            case Hang():
                self._hang(answer, wire, body)
            case Drop():
                self._cut()
            case _:
                assert_never(answer)

    @contextmanager
    def _counted(self) -> Generator[None]:
        with self.state.counting:
            self.state.busy += 1
            self.state.most_busy = max(self.state.busy, self.state.most_busy)
        try:
            yield
        finally:
            with self.state.counting:
                self.state.busy -= 1

    def _frames(self, answer: Frames, wire: ModuleType) -> None:
        self._stream(answer.frames, content_type=answer.content_type)
        match answer.end:
            case "done":
                self._chunk(wire.END)
                self._end_body()
            case "close":
                self._end_body()
            case "cut":
                self._cut()
            case "hang":
                self._wait()
            case _:
                assert_never(answer.end)

    def _hang(self, answer: Hang, wire: ModuleType, body: Any) -> None:
        if answer.stage == "body":
            self._stream(())
        elif answer.stage == "middle":
            self._stream(list(wire.frames(Say(text="The answer is"), body))[:3])
        self._wait()

    def _stream(
        self, frames: Iterable[str], *, pause: float = 0.0, content_type: str = "text/event-stream"
    ) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for frame in frames:
            self._chunk(frame)
            if pause:
                self._look_for_leaving(pause)

    def _chunk(self, frame: str) -> None:
        data = frame.encode("utf-8", "surrogatepass")
        if data:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

    def _end_body(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _wait(self) -> None:
        while not self.state.closing.is_set():
            self._look_for_leaving(0.02)
        self.close_connection = True

    def _look_for_leaving(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _ClientLeft

    def _whole(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _error(message: str, **fields: str) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}

"""The server itself: real sockets, one thread per connection, answers from a script."""

import json
import math
import threading
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, assert_never
from uuid import uuid4

import orjson
from typing_extensions import override

from fermix.testing.servers.loopback import ClientLeft, Door, Endpoint, Platform, Request
from fermix.testing.servers.openai_strict import chat, responses
from fermix.testing.servers.openai_strict.rules import WrongField, expect, pictures_in
from fermix.testing.servers.openai_strict.script import (
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

    @property
    def pictures(self) -> list[bytes]:
        """The pictures that it holds, in order."""
        return [*pictures_in(self.body)]


@dataclass(slots=True, kw_only=True)
class StrictServer(Platform):
    """The state behind a running server; tests read and extend it while it runs.

    A request that is not exactly what its wire documents gets a 400 naming the field, a wrong key a 401, an
    unknown model a 404. Right requests are answered by the next entry of `script`, or by `otherwise`.

    Attributes:
        sees: whether pictures are taken; if not, a request that holds one is refused in OpenAI's words.
        reasoned: thoughts that were told, by what they belong to; they must come back unchanged.
        left: set when a client went before its answer was whole.
        connections: how many were made so far.
        busy: how many answers are being told, and `most_busy` how many ever were at once.
    """

    base_url: str = ""
    key: str | None = "test-key"
    model: str = "strict-1"
    otherwise: Answer = field(default_factory=Echo)
    script: deque[Answer] = field(default_factory=deque)
    requests: list[Recorded] = field(default_factory=list)
    sees: bool = True
    reasoned: dict[str, str] = field(default_factory=dict)
    left: threading.Event = field(default_factory=threading.Event)
    connections: int = 0
    busy: int = 0
    most_busy: int = 0

    def will(self, *answers: Answer) -> None:
        """Add answers to the script."""
        self.script.extend(answers)

    def next_answer(self) -> Answer:
        """What the next right request is answered."""
        return self.script.popleft() if self.script else self.otherwise


@contextmanager
def strict_server(
    *answers: Answer, key: str | None = "test-key", model: str = "strict-1", port: int = 0
) -> Generator[StrictServer]:
    """Run a server on the loopback interface until left; `key=None` asks for none."""
    server = StrictServer(key=key, model=model)
    server.will(*answers)
    door = Door(server, _Wires, port)
    server.base_url = f"http://127.0.0.1:{door.port}/v1"
    try:
        yield server
    finally:
        server.close()
        door.close()


def _echo_or_call(answer: EchoOrCall, text: str, body: Any) -> Say:
    asked = body["messages"][-1]["role"] == "user"
    if asked and text.rpartition("\n")[2].startswith(answer.word):
        return Say(calls=(Call(id=f"call_{uuid4().hex[:12]}", name=answer.name, arguments="{}"),))
    return Say(text=f"You said: {text}")


class _Wires(Endpoint[StrictServer]):
    @override
    def setup(self) -> None:
        super().setup()
        with self.world.changed:
            self.world.connections += 1

    @override
    def serve(self, request: Request) -> None:
        if request.method == "GET":
            self._tell(request.path)
            return
        try:
            body = orjson.loads(request.body)
        except ValueError:
            self._whole(400, _error("the body is not JSON"))
            return
        if request.path == "/_strict/script":
            self.world.will(*(answer_from_json(item) for item in body))
            self._whole(200, {})
            return
        recorded = Recorded(path=request.path, headers=dict(request.headers), body=body)
        self.world.requests.append(recorded)
        try:
            self._judge(recorded)
        except (ClientLeft, ConnectionError):
            self.world.left.set()
            self.close_connection = True

    def _tell(self, path: str) -> None:
        if path == "/_strict/requests":
            seen = [{"path": r.path, "headers": r.headers, "body": r.body} for r in self.world.requests]
            self._whole(200, seen)
        elif path == "/v1/models":
            self._whole(200, {"object": "list", "data": [{"id": self.world.model, "object": "model"}]})
        else:
            self._whole(404, {"detail": "Not Found"})

    def _judge(self, request: Recorded) -> None:
        wire = _WIRES.get(request.path)
        expected = None if self.world.key is None else f"Bearer {self.world.key}"
        if wire is None:
            self._whole(404, {"detail": "Not Found"})
        elif request.headers.get("authorization") != expected:
            self._whole(401, _error("Incorrect API key provided.", code="invalid_api_key"))
        else:
            self._answer(wire, request.body)

    def _answer(self, wire: ModuleType, body: Any) -> None:
        try:
            wire.check(body, self.world.reasoned)
            expect(
                self.world.sees or not any(pictures_in(body)),
                "Invalid content type",
                "image_url is only supported by certain models.",
            )
        except WrongField as wrong:
            self._whole(400, _error(str(wrong), type="invalid_request_error"))
            return
        if body["model"] != self.world.model:
            self._whole(404, _error(f"The model `{body['model']}` does not exist.", code="model_not_found"))
            return
        answer = self.world.next_answer()
        match answer:
            case Say():
                wire.remember(answer, self.world.reasoned)
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
                self.cut()
            case _:
                assert_never(answer)

    @contextmanager
    def _counted(self) -> Generator[None]:
        with self.world.changed:
            self.world.busy += 1
            self.world.most_busy = max(self.world.busy, self.world.most_busy)
        try:
            yield
        finally:
            with self.world.changed:
                self.world.busy -= 1

    def _frames(self, answer: Frames, wire: ModuleType) -> None:
        self._stream(answer.frames, content_type=answer.content_type)
        match answer.end:
            case "done":
                self._chunk(wire.END)
                self._end_body()
            case "close":
                self._end_body()
            case "cut":
                self.cut()
            case "hang":
                self.hang(math.inf)
            case _:
                assert_never(answer.end)

    def _hang(self, answer: Hang, wire: ModuleType, body: Any) -> None:
        if answer.stage == "body":
            self._stream(())
        elif answer.stage == "middle":
            self._stream(list(wire.frames(Say(text="The answer is"), body))[:3])
        self.hang(math.inf)

    def _stream(
        self, frames: Iterable[str], *, pause: float = 0.0, content_type: str = "text/event-stream"
    ) -> None:
        self.head(200, {"Content-Type": content_type, "Transfer-Encoding": "chunked"})
        self.wfile.flush()
        for frame in frames:
            self._chunk(frame)
            if pause:
                self.hang(pause)

    def _chunk(self, frame: str) -> None:
        data = frame.encode("utf-8", "surrogatepass")
        if data:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

    def _end_body(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _whole(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        named = {"Content-Type": "application/json", **(headers or {})}
        self.reply(status, data, named.pop("Content-Type"), named)


def _error(message: str, **fields: str) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}

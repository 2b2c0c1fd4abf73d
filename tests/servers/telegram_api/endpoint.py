"""The HTTP side: real sockets, one thread a connection, faults where tests asked for them."""

import json
import math
import select
import socket
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from tests.servers.telegram_api import play
from tests.servers.telegram_api.methods import METHODS
from tests.servers.telegram_api.parameters import Parameters, parameters_of
from tests.servers.telegram_api.records import Drop, Fault, Json
from tests.servers.telegram_api.refusal import WEBHOOK_SET, Conflict, Refused, fault_text, too_many_requests
from tests.servers.telegram_api.world import World

_NAMES = {name.lower(): name for name in (*METHODS, "getUpdates")}
MAX_BODY = 51 * 1024 * 1024
"""A file of 50 MiB, and the parameters beside it."""

_LOOK = 0.02


def listening(world: World, port: int) -> ThreadingHTTPServer:
    """A server on the loopback interface, not yet serving."""

    class Bound(Endpoint):
        pass

    Bound.world = world
    http = ThreadingHTTPServer(("127.0.0.1", port), Bound)
    http.daemon_threads = True
    http.block_on_close = False
    return http


class _Left(Exception):
    """The client has closed its side, or the server ends."""


class Endpoint(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    world: World

    @override
    def setup(self) -> None:
        super().setup()
        with self.world.changed:
            self.world.connections.add(self.connection)

    @override
    def finish(self) -> None:
        with self.world.changed:
            self.world.connections.discard(self.connection)
            self.world.changed.notify_all()
        try:
            super().finish()
        except ConnectionError:
            self.close_connection = True

    @override
    def handle(self) -> None:
        if self.world.offline:
            return
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Keep test output clean."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        arrived = time.monotonic()
        length = int(self.headers.get("content-length") or 0)
        if length > MAX_BODY:
            self.close_connection = True
            self._answer(413, Refused(413, "Request Entity Too Large").body())
            return
        body = self.rfile.read(length)
        try:
            self._route(body, arrived)
        except (_Left, ConnectionError):
            self.close_connection = True

    def _route(self, body: bytes, arrived: float) -> None:
        address = urlsplit(self.path)
        head, _, rest = unquote(address.path).removeprefix("/").partition("/")
        if head.startswith("bot"):
            self._call(head.removeprefix("bot"), rest, address.query, body, arrived)
        elif head == "file" and rest.startswith("bot"):
            token, _, path = rest.removeprefix("bot").partition("/")
            self._file(token, path)
        elif head == "_play":
            status, answer = play.answer(self.world, rest, address.query, body)
            self._answer(status, answer)
        else:
            self._answer(404, Refused(404, "Not Found").body())

    def _call(self, token: str, raw_method: str, query: str, body: bytes, arrived: float) -> None:
        method = _NAMES.get(raw_method.lower(), raw_method)
        given = Parameters({})
        reply = _Reply(status=0, body={}, description="the client left", drop="before")
        try:
            self._let_in(token)
            given = parameters_of(query, self.headers.get("content-type", ""), body)
            with self.world.changed:
                fault = self.world.take_fault(method, given.whole("chat_id") or None)
            reply = self._reply(method, given, fault)
        except Refused as refused:
            reply = _Reply(status=refused.code, body=refused.body(), description=refused.description)
        finally:
            status = 0 if reply.drop is not None else reply.status
            self.world.record(method, dict(given.values), status, reply.description, arrived)
        if reply.drop is None:
            self._answer(reply.status, reply.body)
        else:
            self._cut(reply)

    def _reply(self, method: str, given: Parameters, fault: Fault | None) -> "_Reply":
        if fault is not None:
            self._hang(fault.hang)
            if fault.drop == "before":
                return _Reply(status=0, body={}, description="connection dropped", drop="before")
            if fault.body is not None:
                return _Reply(status=fault.status or 200, body=fault.body, description="as the test told")
            _refuse(fault)
        result = {"ok": True, "result": self._result(method, given)}
        if fault is not None and fault.drop is not None:
            return _Reply(status=200, body=result, description="connection dropped", drop=fault.drop)
        return _Reply(status=200, body=result)

    def _let_in(self, token: str) -> None:
        if token == self.world.token:
            return
        number, colon, secret = token.partition(":")
        if number.isdecimal() and colon and secret:
            raise Refused(401, "Unauthorized")
        raise Refused(404, "Not Found")

    def _result(self, method: str, given: Parameters) -> Any:
        with self.world.changed:
            if method == "getUpdates":
                if self.world.webhook:
                    raise Conflict(WEBHOOK_SET)
                updates = self.world.queue.poll(given, self._gone)
                if self._gone():
                    raise _Left
                return updates
            if method not in METHODS:
                raise Refused(404, "Not Found: method not found")
            return METHODS[method](self.world, given)

    def _cut(self, reply: "_Reply") -> None:
        if reply.drop == "half":
            data = json.dumps(reply.body).encode()
            self._head(reply.status, len(data))
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _hang(self, seconds: float) -> None:
        until = math.inf if seconds == math.inf else time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with self.world.changed:
                self.world.changed.wait(min(left, _LOOK))
            if self._gone():
                raise _Left

    def _gone(self) -> bool:
        if self.world.closing:
            return True
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _file(self, token: str, path: str) -> None:
        found = [data for own_path, data in self.world.files.values() if own_path == path]
        if token != self.world.token or not found:
            self._answer(404, Refused(404, "Not Found").body())
            return
        self._head(200, len(found[0]), "application/octet-stream")
        self.wfile.write(found[0])

    def _answer(self, status: int, body: Any) -> None:
        kind = "text/html" if isinstance(body, str) else "application/json"
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self._head(status, len(data), kind)
        self.wfile.write(data)

    def _head(self, status: int, length: int, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """What a call is answered, or how its connection ends instead."""

    status: int
    body: Json | str
    description: str = ""
    drop: Drop | None = None


def _refuse(fault: Fault) -> None:
    """Say no, if that is what the fault is about."""
    if fault.status == 429:
        refusal = too_many_requests(fault.retry_after or 1)
        raise Refused(429, fault.description or refusal.description, **refusal.parameters)
    if fault.status is not None:
        raise Refused(fault.status, fault.description or fault_text(fault.status))

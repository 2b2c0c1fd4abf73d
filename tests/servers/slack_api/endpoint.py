"""The HTTP side of the fake Slack: real sockets, its way of refusing, and its login page."""

import json
import select
import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from typing_extensions import override

from tests.servers.slack_api.methods import SlackError, run
from tests.servers.slack_api.world import Fault, World

LOGIN_PAGE = b"<!DOCTYPE html><html><title>Slack | Sign in</title></html>"
_FORMS_ONLY = frozenset({"files.getUploadURLExternal", "files.info"})


def listening(world: World, port: int) -> ThreadingHTTPServer:
    """A server on the loopback interface, not yet serving."""

    class Bound(Endpoint):
        pass

    Bound.world = world
    http = ThreadingHTTPServer(("127.0.0.1", port), Bound)
    http.daemon_threads = True
    http.block_on_close = False
    return http


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
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _serve(self, body: bytes) -> None:
        path = urlsplit(self.path).path.strip("/")
        head, _, rest = path.partition("/")
        where = {"api": rest, "upload": "upload"}.get(head, "download")
        given = self._parameters(body) if head == "api" else {}
        with self.world.changed:
            self.world.calls.append((where, given))
            self.world.tokens_seen.append((where, self.headers.get("authorization", "")))
            fault = self.world.take_fault(where)
        if fault is not None and fault.hang:
            self.world.wait(fault.hang, self._gone)
        try:
            self._answer_or_fail(where, rest, given, body, fault)
        except SlackError as error:
            answer = {"ok": False, "error": error.code, "needed": "the words of Slack"}
            more = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
            self._send(error.status, json.dumps(answer).encode(), "application/json", more)
        except ConnectionError:
            self.close_connection = True

    def _answer_or_fail(
        self, where: str, rest: str, given: dict[str, Any], body: bytes, fault: Fault | None
    ) -> None:
        if fault is not None and (fault.drop == "before" or fault.hang):
            self._cut()
            return
        if fault is not None and fault.to is not None:
            self._send(302, b"", "text/plain", {"Location": fault.to})
            return
        if fault is not None and fault.error is not None:
            raise SlackError(fault.error, status=fault.status, retry_after=fault.retry_after)
        if fault is not None and fault.page:
            self._send(200, LOGIN_PAGE, "text/html; charset=utf-8")
        elif where == "upload":
            self._take_upload(rest, body)
        elif where == "download":
            self._download(rest.partition("/")[0])
        else:
            self._answer(where, given, fault)

    def _answer(self, where: str, given: dict[str, Any], fault: Fault | None) -> None:
        if self.headers.get("authorization") != f"Bearer {self.world.token}":
            raise SlackError("invalid_auth")
        if where in _FORMS_ONLY and "json" in self.headers.get("content-type", ""):
            raise SlackError("invalid_arguments")
        answer = run(self.world, where, given, self.headers["host"])
        if fault is not None and fault.drop == "after":
            self._cut()
        elif fault is not None and fault.body is not None:
            self._send(200, fault.body.encode(), "text/html")
        else:
            self._send(200, json.dumps({"ok": True, **answer}).encode(), "application/json")

    def _parameters(self, body: bytes) -> dict[str, Any]:
        if "json" in self.headers.get("content-type", ""):
            found = json.loads(body or b"{}")
            return found if isinstance(found, dict) else {}
        return dict(parse_qsl(body.decode()))

    def _take_upload(self, name: str, body: bytes) -> None:
        file = self.world.files.get(name)
        if file is None or len(body) != file.declared:
            self._send(400, b"no such upload", "text/plain")
            return
        with self.world.changed:
            file.data, file.uploaded = body, True
        self._send(200, f"OK - {len(body)}".encode(), "text/plain")

    def _download(self, name: str) -> None:
        file = self.world.files.get(name)
        if self.headers.get("authorization") != f"Bearer {self.world.token}":
            self._send(200, LOGIN_PAGE, "text/html; charset=utf-8")
        elif file is None:
            self._send(404, b"not found", "text/plain")
        else:
            self._send(200, file.data, file.mime_type)

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _gone(self) -> bool:
        if self.world.closing:
            return True
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _send(self, status: int, data: bytes, kind: str, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

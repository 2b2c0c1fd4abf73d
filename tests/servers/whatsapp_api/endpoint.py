"""The HTTP side of the fake Cloud API: real sockets, the documented limits, Meta's codes for what breaks them."""

import hashlib
import json
import re
import select
import socket
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from typing_extensions import override

from tests.servers.whatsapp_api.world import LARGEST, LARGEST_DOCUMENT, Fault, Sent, World

_TYPES = frozenset({"text", "image", "audio", "video", "document", "reaction"})
_IMAGES = frozenset({"image/jpeg", "image/png"})


def listening(world: World, port: int) -> ThreadingHTTPServer:
    """A server on the loopback interface, not yet serving."""

    class Bound(Endpoint):
        pass

    Bound.world = world
    http = ThreadingHTTPServer(("127.0.0.1", port), Bound)
    http.daemon_threads = True
    http.block_on_close = False
    return http


class _Error(Exception):
    def __init__(self, status: int, code: int, retry_after: int | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.retry_after = status, code, retry_after


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
        path = re.sub(r"^/v\d+\.\d+", "", urlsplit(self.path).path).strip("/")
        where = _where(path, self.world)
        with self.world.changed:
            self.world.calls.append((self.command, path))
            self.world.tokens_seen.append(self.headers.get("authorization", ""))
            fault = self.world.take_fault(where)
        if fault is not None and fault.hang:
            self.world.wait(fault.hang, self._gone)
        try:
            self._answer_or_fail(path, where, body, fault)
        except _Error as error:
            self._refuse(error)
        except ConnectionError:
            self.close_connection = True

    def _answer_or_fail(self, path: str, where: str, body: bytes, fault: Fault | None) -> None:
        if fault is not None and (fault.drop == "before" or fault.hang):
            self._cut()
            return
        if fault is not None and fault.to is not None:
            self._send(302, b"", "text/plain", {"Location": fault.to})
            return
        if fault is not None and fault.status is not None:
            raise _Error(fault.status, fault.code or 131000, fault.retry_after)
        if self.headers.get("authorization") != f"Bearer {self.world.access_token}":
            raise _Error(401, 190)
        answer = self._route(path, where, body)
        if fault is not None and fault.drop == "after":
            self._cut()
        elif fault is not None and fault.body is not None:
            self._send(200, fault.body.encode(), "text/html")
        elif answer is not None:
            self._send(200, json.dumps(answer).encode(), "application/json")

    def _route(self, path: str, where: str, body: bytes) -> dict[str, Any] | None:
        if where == "messages":
            return self._message(_object(body))
        if where == "media":
            return self._upload(body)
        if where == "download":
            self._download(path.partition("/")[2])
            return None
        if where == "number":
            return {"id": path, "display_phone_number": "+1 555-123-4567", "verified_name": "Fermix"}
        file = self.world.files.get(path)
        if file is None:
            raise _Error(400, 100)
        with self.world.changed:
            file.told += 1
        own = f"http://{self.headers['host']}/download/{path}"
        return {
            "messaging_product": "whatsapp",
            "url": file.url or own,
            "mime_type": file.mime_type,
            "sha256": hashlib.sha256(file.data).hexdigest(),
            "file_size": len(file.data),
            "id": path,
        }

    def _message(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("messaging_product") != "whatsapp":
            raise _Error(400, 100)
        if body.get("status") == "read":
            if not body.get("message_id"):
                raise _Error(400, 100)
            with self.world.changed:
                self.world.notices.append(body)
                self.world.changed.notify_all()
            return {"success": True}
        kind, to = body.get("type"), body.get("to") or body.get("recipient")
        content = body.get(str(kind))
        if kind not in _TYPES or not isinstance(to, str) or not isinstance(content, dict):
            raise _Error(400, 100)
        if to in self.world.unknown_numbers:
            raise _Error(400, 131030)
        _check(str(kind), content, self.world)
        with self.world.changed:
            wamid = f"wamid.OUT{len(self.world.sent) + 1:06d}"
            if kind == "reaction":
                wamid += f".{content['emoji']}"
                self.world.reactions[content["message_id"]] = content["emoji"]
            else:
                self.world.sent.append(Sent(id=wamid, to=to, kind=kind, content=content, body=body))
            self.world.changed.notify_all()
        return {
            "messaging_product": "whatsapp",
            "contacts": [{"input": to, "wa_id": to}],
            "messages": [{"id": wamid}],
        }

    def _upload(self, body: bytes) -> dict[str, Any]:
        head = b"Content-Type: " + self.headers["content-type"].encode() + b"\r\n\r\n"
        form = BytesParser(policy=HTTP).parsebytes(head + body)
        fields = {
            str(part.get_param("name", header="content-disposition")): part for part in form.iter_parts()
        }
        file = fields.get("file")
        if file is None or _words(fields.get("messaging_product")) != "whatsapp":
            raise _Error(400, 100)
        mime = _words(fields.get("type"))
        data = file.get_payload(decode=True)
        assert isinstance(data, bytes)
        if len(data) > LARGEST.get(mime.partition("/")[0], LARGEST_DOCUMENT):
            raise _Error(400, 131053)
        return {"id": self.world.store(data, mime)}

    def _download(self, media: str) -> None:
        file = self.world.files.get(media)
        if file is None:
            raise _Error(404, 100)
        self._send(200, file.data, file.served_as or file.mime_type)

    def _refuse(self, error: _Error) -> None:
        body = {
            "error": {
                "message": f"(#{error.code}) the words of Meta",
                "type": "OAuthException",
                "code": error.code,
                "error_data": {"messaging_product": "whatsapp", "details": "more words"},
                "fbtrace_id": "trace",
            }
        }
        more = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        self._send(error.status, json.dumps(body).encode(), "application/json", more)

    def _cut(self) -> None:
        self.close_connection = True
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


def _where(path: str, world: World) -> str:
    own = world.phone_number_id
    known = {f"{own}/messages": "messages", f"{own}/media": "media", own: "number"}
    return known.get(path, "download" if path.startswith("download/") else "file")


def _check(kind: str, content: dict[str, Any], world: World) -> None:
    if kind == "text":
        text = content.get("body")
        if not isinstance(text, str) or not text.strip() or len(text) > 4096:
            raise _Error(400, 100)
    elif kind == "reaction":
        if not isinstance(content.get("emoji"), str):
            raise _Error(400, 100)
        if content.get("message_id") not in world.received:
            raise _Error(400, 131009)
    else:
        file = world.files.get(str(content.get("id")))
        if file is None or len(content.get("caption", "")) > 1024:
            raise _Error(400, 131009)
        if kind == "audio" and "caption" in content:
            raise _Error(400, 100)
        if kind == "image" and file.mime_type not in _IMAGES:
            raise _Error(400, 131053)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as exc:
        raise _Error(400, 100) from exc
    if not isinstance(found, dict):
        raise _Error(400, 100)
    return found


def _words(part: Any) -> str:
    payload = None if part is None else part.get_payload(decode=True)
    return payload.decode().strip() if isinstance(payload, bytes) else ""

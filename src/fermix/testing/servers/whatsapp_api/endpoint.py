"""The HTTP side of the fake Cloud API: real sockets, the documented limits, Meta's codes for what breaks them."""

import hashlib
import json
import re
from typing import Any

from typing_extensions import override

from fermix.testing.servers.loopback import Endpoint, Request
from fermix.testing.servers.multipart import BadForm, parts_of
from fermix.testing.servers.whatsapp_api.world import (
    LARGEST,
    LARGEST_DOCUMENT,
    MAX_CAPTION,
    MAX_TEXT,
    Fault,
    Sent,
    World,
)

_TYPES = frozenset({"text", "image", "audio", "video", "document", "reaction"})
_IMAGES = frozenset({"image/jpeg", "image/png"})


class _Error(Exception):
    def __init__(self, status: int, code: int, retry_after: int | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.retry_after = status, code, retry_after


class CloudApi(Endpoint[World]):
    """Answers as https://developers.facebook.com/docs/whatsapp/cloud-api/reference tells of its endpoints."""

    @override
    def serve(self, request: Request) -> None:
        path = re.sub(r"^/v\d+\.\d+", "", request.path).strip("/")
        where = _where(path, self.world)
        with self.world.changed:
            self.world.calls.append((request.method, path))
            self.world.tokens_seen.append(request.headers.get("authorization", ""))
            fault = self.world.take_fault(where)
        if self.suffers(fault):
            return
        try:
            self._answer(request, path, where, fault)
        except _Error as error:
            self._refuse(error)

    def _answer(self, request: Request, path: str, where: str, fault: Fault | None) -> None:
        if fault is not None and fault.status is not None:
            raise _Error(fault.status, fault.code or 131000, fault.retry_after)
        if request.headers.get("authorization") != f"Bearer {self.world.access_token}":
            raise _Error(401, 190)
        if where == "download" and fault is not None and fault.body is not None:
            self.reply(200, fault.body.encode(), "text/html")
            return
        answer = self._route(request, path, where)
        if fault is not None and fault.drop == "after":
            self.cut()
        elif fault is not None and fault.body is not None:
            self.reply(200, fault.body.encode(), "text/html")
        elif answer is not None:
            self.reply(200, json.dumps(answer).encode())

    def _route(self, request: Request, path: str, where: str) -> dict[str, Any] | None:
        if where == "messages":
            return self._message(_object(request.body))
        if where == "media":
            return self._upload(request)
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
        own = f"http://{request.headers['host']}/download/{path}"
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

    def _upload(self, request: Request) -> dict[str, Any]:
        try:
            fields = {part.name: part for part in parts_of(request.headers["content-type"], request.body)}
            file, words = fields["file"], {name: part.text for name, part in fields.items() if name != "file"}
        except (BadForm, KeyError):
            raise _Error(400, 100) from None
        mime = words.get("type", "").strip()
        if words.get("messaging_product", "").strip() != "whatsapp" or not mime:
            raise _Error(400, 100)
        if len(file.content) > LARGEST.get(mime.partition("/")[0], LARGEST_DOCUMENT):
            raise _Error(400, 131053)
        return {"id": self.world.store(file.content, mime)}

    def _download(self, media: str) -> None:
        file = self.world.files.get(media)
        if file is None:
            raise _Error(404, 100)
        self.reply(200, file.data, file.served_as or file.mime_type)

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
        self.reply(error.status, json.dumps(body).encode(), more=more)


def _where(path: str, world: World) -> str:
    own = world.phone_number_id
    known = {f"{own}/messages": "messages", f"{own}/media": "media", own: "number"}
    return known.get(path, "download" if path.startswith("download/") else "file")


def _check(kind: str, content: dict[str, Any], world: World) -> None:
    if kind == "text":
        text = content.get("body")
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise _Error(400, 100)
    elif kind == "reaction":
        if not isinstance(content.get("emoji"), str):
            raise _Error(400, 100)
        if content.get("message_id") not in world.received:
            raise _Error(400, 131009)
    else:
        file = world.files.get(str(content.get("id")))
        if file is None or len(content.get("caption", "")) > MAX_CAPTION:
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

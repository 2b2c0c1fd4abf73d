"""The HTTP side of the fake Slack: its Web API, its files, its lines of Socket Mode, and its login page."""

import json
from typing import Any
from urllib.parse import parse_qsl

from typing_extensions import override

from fermix.testing.servers.loopback import Endpoint, Request
from fermix.testing.servers.slack_api.methods import OPENS_LINES, SlackError, run
from fermix.testing.servers.slack_api.world import Fault, World
from fermix.testing.servers.websocket import WebSocket

LOGIN_PAGE = b"<!DOCTYPE html><html><title>Slack | Sign in</title></html>"
"""What Slack serves, with success, to whoever asks for a file without a token that may see it."""

_LISTS = frozenset({"files"})
_FORMS_ONLY = frozenset({"files.getUploadURLExternal", "files.info"})


class WebApi(Endpoint[World]):
    """Answers as https://docs.slack.dev/apis/web-api/ tells."""

    @override
    def serve(self, request: Request) -> None:
        head, _, rest = request.path.strip("/").partition("/")
        if head == "link":
            self._line(request)
            return
        where = {"api": rest, "upload": "upload"}.get(head, "download")
        given = _parameters(request) if head == "api" else {}
        with self.world.changed:
            self.world.calls.append((where, given))
            self.world.tokens_seen.append((where, request.headers.get("authorization", "")))
            fault = self.world.take_fault(where)
        if self.suffers(fault):
            return
        try:
            self._answer(request, where, rest, given, fault)
        except SlackError as error:
            answer = {"ok": False, "error": error.code, "needed": "the words of Slack"}
            more = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
            self.reply(error.status, json.dumps(answer).encode(), more=more)

    def _answer(
        self, request: Request, where: str, rest: str, given: dict[str, Any], fault: Fault | None
    ) -> None:
        if fault is not None and fault.error is not None:
            raise SlackError(fault.error, status=fault.status or 200, retry_after=fault.retry_after)
        if fault is not None and fault.page:
            self.reply(200, LOGIN_PAGE, "text/html; charset=utf-8")
        elif where == "upload":
            self._take_upload(rest, request.body)
        elif where == "download":
            self._download(request, rest.partition("/")[0])
        else:
            self._call(request, where, given, fault)

    def _call(self, request: Request, where: str, given: dict[str, Any], fault: Fault | None) -> None:
        right = self.world.app_token if where == OPENS_LINES else self.world.token
        if request.headers.get("authorization") != f"Bearer {right}":
            raise SlackError("not_allowed_token_type" if where == OPENS_LINES else "invalid_auth")
        if where in _FORMS_ONLY and "json" in request.headers.get("content-type", ""):
            raise SlackError("invalid_arguments")
        answer = run(self.world, where, given, request.headers["host"])
        if fault is not None and fault.drop == "after":
            self.cut()
        elif fault is not None and fault.body is not None:
            self.reply(200, fault.body.encode(), "text/html")
        else:
            self.reply(200, json.dumps({"ok": True, **answer}).encode())

    def _take_upload(self, name: str, body: bytes) -> None:
        file = self.world.files.get(name)
        if file is None or len(body) != file.declared:
            self.reply(400, b"no such upload", "text/plain")
            return
        with self.world.changed:
            file.data, file.uploaded = body, True
        self.reply(200, f"OK - {len(body)}".encode(), "text/plain")

    def _download(self, request: Request, name: str) -> None:
        file = self.world.files.get(name)
        if request.headers.get("authorization") != f"Bearer {self.world.token}":
            self.reply(200, LOGIN_PAGE, "text/html; charset=utf-8")
        elif file is None:
            self.reply(404, b"not found", "text/plain")
        else:
            self.reply(200, file.data, file.mime_type)

    def _line(self, request: Request) -> None:
        """One line of Socket Mode: https://docs.slack.dev/apis/events-api/using-socket-mode."""
        line = WebSocket(self, request)
        line.send(json.dumps({"type": "hello", "num_connections": 1}))
        with self.world.changed:
            self.world.lines.append(line)
            self.world.opened += 1
            self.world.changed.notify_all()
        try:
            for message in line.messages():
                with self.world.changed:
                    self.world.acknowledged.append(json.loads(message)["envelope_id"])
                    self.world.changed.notify_all()
        finally:
            with self.world.changed:
                self.world.lines.remove(line)


def _parameters(request: Request) -> dict[str, Any]:
    """From the address, a form or JSON, and all mean the same: https://docs.slack.dev/apis/web-api/#post-bodies."""
    given: dict[str, Any] = dict(parse_qsl(request.query))
    if "json" not in request.headers.get("content-type", ""):
        given |= dict(parse_qsl(request.body.decode()))
        return {name: _structure(name, value) for name, value in given.items()}
    found = json.loads(request.body or b"{}")
    return {**given, **found} if isinstance(found, dict) else given


def _structure(name: str, value: str) -> Any:
    """A list, where a form holds its JSON."""
    return json.loads(value) if name in _LISTS else value

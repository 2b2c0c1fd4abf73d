"""The HTTP side: real sockets, one thread a connection, faults where tests asked for them."""

import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from typing_extensions import override

from fermix.testing.servers.loopback import ClientLeft, Endpoint, Request
from fermix.testing.servers.telegram_api import play
from fermix.testing.servers.telegram_api.methods import METHODS
from fermix.testing.servers.telegram_api.parameters import Parameters, parameters_of
from fermix.testing.servers.telegram_api.records import DOWNLOAD, Drop, Fault, Json
from fermix.testing.servers.telegram_api.refusal import (
    WEBHOOK_SET,
    Conflict,
    Refused,
    fault_text,
    too_many_requests,
)
from fermix.testing.servers.telegram_api.world import World

_NAMES = {name.lower(): name for name in (*METHODS, "getUpdates")}


class BotApi(Endpoint[World]):
    """Answers as https://core.telegram.org/bots/api#making-requests tells."""

    max_body = 51 * 1024 * 1024
    """A file of 50 MiB, and the parameters beside it."""

    @override
    def refuse_body(self) -> None:
        self._answer(413, Refused(413, "Request Entity Too Large").body())

    @override
    def serve(self, request: Request) -> None:
        arrived = time.monotonic()
        head, _, rest = unquote(request.path).removeprefix("/").partition("/")
        if head.startswith("bot"):
            self._call(head.removeprefix("bot"), rest, request, arrived)
        elif head == "file" and rest.startswith("bot"):
            token, _, path = rest.removeprefix("bot").partition("/")
            self._file(token, path)
        elif head == "_play":
            status, answer = play.answer(self.world, rest, request.query, request.body)
            self._answer(status, answer)
        else:
            self._answer(404, Refused(404, "Not Found").body())

    def _call(self, token: str, raw_method: str, request: Request, arrived: float) -> None:
        method = _NAMES.get(raw_method.lower(), raw_method)
        given = Parameters({})
        reply = _Reply(status=0, body={}, description="the client left", drop="before")
        try:
            self._let_in(token)
            given = parameters_of(request.query, request.headers.get("content-type", ""), request.body)
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
            self._cut_off(reply)

    def _reply(self, method: str, given: Parameters, fault: Fault | None) -> "_Reply":
        if fault is not None:
            self.hang(fault.hang)
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
                updates = self.world.queue.poll(given, self.is_gone)
                if self.is_gone():
                    raise ClientLeft
                return updates
            if method not in METHODS:
                raise Refused(404, "Not Found: method not found")
            return METHODS[method](self.world, given)

    def _cut_off(self, reply: "_Reply") -> None:
        if reply.drop == "half":
            data = json.dumps(reply.body).encode()
            self.head(reply.status, {"Content-Type": "application/json", "Content-Length": str(len(data))})
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
        self.cut()

    def _file(self, token: str, path: str) -> None:
        with self.world.changed:
            found = [data for own_path, data in self.world.files.values() if own_path == path]
            fault = self.world.take_fault(DOWNLOAD, None)
        if fault is not None:
            self.hang(fault.hang)
        if fault is not None and fault.drop is not None:
            self.cut()
        elif fault is not None and (fault.status is not None or fault.body is not None):
            self._answer(fault.status or 200, fault.body or "")
        elif token != self.world.token or not found:
            self._answer(404, Refused(404, "Not Found").body())
        else:
            self.reply(200, found[0], "application/octet-stream")

    def _answer(self, status: int, body: Any) -> None:
        if isinstance(body, str):
            self.reply(status, body.encode(), "text/html")
        else:
            self.reply(status, json.dumps(body).encode())


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

"""A messaging platform as its users see it, in a process of its own, so that no death of a daemon touches it.

Runs as `python -m tests.e2e.harness.far_side`, prints its two ports as one JSON line and serves until its standard
input ends. Both ports speak JSON lines, one answer for each request. On the *platform* port the product's channel
polls, acknowledges and sends; on the *people* port a test writes messages as a user would and reads what arrived.
"""

import json
import socketserver
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from typing_extensions import override

POLL_SECONDS = 1.0
"""The longest a poll waits for a message."""

Json: TypeAlias = dict[str, Any]


class DropConnection(Exception):
    """Close the connection instead of answering."""


@dataclass(slots=True, kw_only=True)
class Platform:
    """What happened on the platform so far; every change wakes whoever waits for one."""

    messages: list[Json] = field(default_factory=list)
    seen: list[Json] = field(default_factory=list)
    faults: deque[Json] = field(default_factory=deque)
    offered: list[int] = field(default_factory=list)
    acknowledged: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def serve_platform(self, request: Mapping[str, Any]) -> Json:
        """What the channel may ask."""
        match request["op"]:
            case "poll":
                return self._poll(request["after"])
            case "ack":
                with self.changed:
                    self.acknowledged = max(self.acknowledged, request["offset"])
                    self.changed.notify_all()
                return {}
            case "send":
                return self._send(request)
            case other:
                raise ValueError(other)

    def serve_people(self, request: Mapping[str, Any]) -> Json:
        """What a test may ask."""
        match request["op"]:
            case "write":
                return self._write(request["messages"])
            case "seen":
                self._wait(lambda: len(self.seen) >= request["count"], request["seconds"])
                return {"seen": self.seen}
            case "acknowledged":
                self._wait(lambda: self.acknowledged >= request["offset"], request["seconds"])
                return {"offset": self.acknowledged, "offered": self.offered}
            case "fault":
                with self.changed:
                    self.faults.append(dict(request["fault"]))
                return {}
            case other:
                raise ValueError(other)

    def refuses_connection(self) -> bool:
        """Whether this connection is to be closed before a word is said."""
        with self.changed:
            if self.faults and self.faults[0]["kind"] == "unreachable":
                self.faults.popleft()
                return True
        return False

    def _write(self, messages: list[Json]) -> Json:
        with self.changed:
            for message in messages:
                offset = len(self.messages) + 1
                self.messages.append({"offset": offset, "id": f"m{offset}", **message})
            self.changed.notify_all()
            return {"offset": len(self.messages)}

    def _poll(self, after: int) -> Json:
        start = max(after, self.acknowledged)
        self._wait(lambda: len(self.messages) > start, POLL_SECONDS)
        with self.changed:
            found = self.messages[start:]
            self.offered.extend(message["offset"] for message in found)
            return {"messages": found}

    def _send(self, request: Mapping[str, Any]) -> Json:
        with self.changed:
            fault = self.faults.popleft() if self.faults else {"kind": "none"}
            if fault["kind"] == "rate_limit":
                return {"error": "rate_limited", "retry_after": fault["retry_after"]}
            if fault["kind"] == "refuse":
                return {"error": "refused"}
            self.seen.append(
                {name: request[name] for name in ("chat", "text", "nonce", "repeated", "reply_to")}
            )
            self.changed.notify_all()
            if fault["kind"] == "drop_answer":
                raise DropConnection
            return {"id": f"out{len(self.seen)}"}

    def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        with self.changed:
            self.changed.wait_for(condition, timeout=seconds)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


def _handler(platform: Platform, *, greets: bool, serve: Callable[[Mapping[str, Any]], Json]) -> Any:
    class Handler(socketserver.StreamRequestHandler):
        @override
        def handle(self) -> None:
            if greets:
                if platform.refuses_connection():
                    return
                self._say({"hello": True})
            for line in self.rfile:
                try:
                    answer = serve(json.loads(line))
                except DropConnection:
                    return
                self._say(answer)

        def _say(self, answer: Json) -> None:
            self.wfile.write(json.dumps(answer).encode() + b"\n")

        @override
        def finish(self) -> None:
            try:
                super().finish()
            except OSError:
                return

    return Handler


class _Quiet(_Server):
    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A killed daemon leaves broken lines behind; anything else is a fault of this program."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until standard input ends."""
    platform = Platform()
    sides = {
        "platform": _handler(platform, greets=True, serve=platform.serve_platform),
        "people": _handler(platform, greets=False, serve=platform.serve_people),
    }
    servers = {name: _Quiet(("127.0.0.1", 0), handler) for name, handler in sides.items()}
    for server in servers.values():
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    print(json.dumps({name: server.server_address[1] for name, server in servers.items()}), flush=True)  # noqa: T201
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()

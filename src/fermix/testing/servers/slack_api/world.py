"""What the fake Slack knows: its app, what was sent, files, and the faults that tests asked for."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from fermix.testing.servers import loopback
from fermix.testing.servers.websocket import WebSocket


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(loopback.Fault):
    """What becomes of one request.

    Attributes:
        where: the method, `upload` or `download`.
        error: Slack's code; with status 200 when no status is given.
        page: the page where people log in comes, with success.
    """

    error: str | None = None
    page: bool = False


@dataclass(slots=True, kw_only=True)
class Sent:
    """A message that people see."""

    ts: str
    channel: str
    text: str
    thread: str | None
    parameters: dict[str, Any]
    file: "File | None" = None
    gone: bool = False


@dataclass(slots=True, kw_only=True)
class File:
    """A file, uploaded or sent by somebody."""

    data: bytes
    name: str
    mime_type: str = "application/octet-stream"
    declared: int | None = None
    uploaded: bool = True
    url: str | None = None
    external: bool = False


@dataclass(slots=True, kw_only=True)
class World(loopback.Platform):
    """Everything behind the door.

    Attributes:
        token: the bot's, for all methods but the one that opens lines, which asks for `app_token`.
        lines: of Socket Mode that are open; the last one is spoken over.
        opened: how many lines were opened so far.
        acknowledged: the envelopes that clients acknowledged, in their order.
        refuses_lines: the code with which no line is opened, if any.
    """

    token: str
    app_token: str
    bot_user: str = "U0BOT"
    bot: str = "B0SELF"
    sent: list[Sent] = field(default_factory=list[Sent])
    known: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    reactions: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    files: dict[str, File] = field(default_factory=dict[str, File])
    faults: deque[Fault] = field(default_factory=deque[Fault])
    tokens_seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    lines: list[WebSocket] = field(default_factory=list[WebSocket])
    opened: int = 0
    acknowledged: list[str] = field(default_factory=list[str])
    refuses_lines: str | None = None
    last: int = 0

    def new_ts(self) -> str:
        """The id of the next message."""
        self.last += 1
        return f"1790000100.{self.last:06d}"

    def take_fault(self, where: str) -> Fault | None:
        """The next fault that is meant for such a request."""
        for fault in self.faults:
            if fault.where == where:
                self.faults.remove(fault)
                return fault
        return None

    def store(self, data: bytes, name: str, **more: Any) -> str:
        """Keep a file; its id."""
        with self.changed:
            file = f"F0{len(self.files):06d}"
            self.files[file] = File(data=data, name=name, **more)
        return file

"""What the fake Slack knows: its app, what was sent, files, and the faults that tests asked for."""

import math
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

Drop = Literal["before", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What becomes of one request.

    Attributes:
        where: the method, `upload` or `download`.
        status: of an answer that holds `error`.
        error: Slack's code; with status 200 when no status is given.
        retry_after: seconds, as a header.
        drop: cut the line before anything happens, or after all of it did.
        body: an answer that is none.
        hang: seconds without an answer; the others are answered meanwhile.
        to: where a redirect leads.
        page: the page where people log in comes, with success.
    """

    where: str
    status: int = 200
    error: str | None = None
    retry_after: int | None = None
    drop: Drop | None = None
    body: str | None = None
    hang: float = 0.0
    to: str | None = None
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
class World:
    """Everything behind the doors; guarded by `changed`."""

    token: str
    bot_user: str = "U0BOT"
    bot: str = "B0SELF"
    changed: threading.Condition = field(default_factory=threading.Condition)
    sent: list[Sent] = field(default_factory=list[Sent])
    known: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    reactions: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    files: dict[str, File] = field(default_factory=dict[str, File])
    faults: deque[Fault] = field(default_factory=deque[Fault])
    tokens_seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    connections: set[socket.socket] = field(default_factory=set[socket.socket])
    hanging: int = 0
    offline: bool = False
    closing: bool = False
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

    def wait(self, seconds: float, gone: Any) -> None:
        """Let a request hang for so long, or until its client has left."""
        until = math.inf if seconds == math.inf else time.monotonic() + seconds
        with self.changed:
            self.hanging += 1
            self.changed.notify_all()
        try:
            while time.monotonic() < until and not gone():
                with self.changed:
                    self.changed.wait(0.02)
        finally:
            with self.changed:
                self.hanging -= 1

"""What the fake Cloud API knows: its number, what was sent, files, and the faults that tests asked for."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from fermix.testing.servers import loopback

MIB = 1024 * 1024
LARGEST = {"image": 5 * MIB, "audio": 16 * MIB, "video": 16 * MIB}
"""Bytes of the largest file by the first half of its type; all others are documents."""

LARGEST_DOCUMENT = 100 * MIB
MAX_TEXT = 4096
MAX_CAPTION = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(loopback.Fault):
    """What becomes of one request.

    Attributes:
        where: `messages`, `media` (an upload), `file` (what is told of one) or `download`.
        code: Meta's, with `status`.
    """

    code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message that people see."""

    id: str
    to: str
    kind: str
    content: dict[str, Any]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Its words."""
        found = self.content.get("body") or self.content.get("caption") or ""
        return str(found)


@dataclass(slots=True, kw_only=True)
class File:
    """A file, uploaded or sent by somebody."""

    data: bytes
    mime_type: str
    url: str | None = None
    served_as: str | None = None
    told: int = 0


@dataclass(slots=True, kw_only=True)
class World(loopback.Platform):
    """Everything behind the door."""

    phone_number_id: str
    access_token: str
    display_number: str = "15551234567"
    sent: list[Sent] = field(default_factory=list[Sent])
    received: set[str] = field(default_factory=set[str])
    reactions: dict[str, str] = field(default_factory=dict[str, str])
    notices: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    files: dict[str, File] = field(default_factory=dict[str, File])
    faults: deque[Fault] = field(default_factory=deque[Fault])
    unknown_numbers: set[str] = field(default_factory=set[str])
    tokens_seen: list[str] = field(default_factory=list[str])

    def take_fault(self, where: str) -> Fault | None:
        """The next fault that is meant for such a request."""
        for fault in self.faults:
            if fault.where == where:
                self.faults.remove(fault)
                return fault
        return None

    def store(self, data: bytes, mime_type: str, **more: Any) -> str:
        """Keep a file; its id."""
        with self.changed:
            media = str(900_000 + len(self.files))
            self.files[media] = File(data=data, mime_type=mime_type, **more)
            self.changed.notify_all()
        return media

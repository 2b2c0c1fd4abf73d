"""The test's end of the far side: starting its process, writing as a user, and reading what users saw."""

import json
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
OWNER = "1001"
GUEST = "2002"
HELPER = "2003"
"""A guest who is on the command allowlist."""
STRANGER = "6666"
WAIT_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One part as it arrived at a user's."""

    chat: str
    text: str
    nonce: str
    repeated: bool
    reply_to: str | None


class People:
    """Everybody on the platform. One connection for each question, so that threads may share it."""

    def __init__(self, *, port: int, platform_port: int) -> None:
        self._port = port
        self.platform_port = platform_port

    def write(self, chat: str, text: str, *, user: str = OWNER, name: str = "Ada") -> int:
        """A user writes a message; gives back its offset."""
        return self.write_all([(chat, text)], user=user, name=name)

    def write_all(self, messages: Sequence[tuple[str, str]], *, user: str = OWNER, name: str = "Ada") -> int:
        """A user writes several messages at once, as (chat, text); the offset of the last."""
        written = [{"chat": chat, "text": text, "user": user, "name": name} for chat, text in messages]
        offset: int = self._ask({"op": "write", "messages": written})["offset"]
        return offset

    def offer(self, **message: Any) -> int:
        """Put a message as it stands, odd fields and all."""
        offset: int = self._ask({"op": "write", "messages": [message]})["offset"]
        return offset

    def seen(self, *, count: int = 0, seconds: float = WAIT_SECONDS) -> list[Seen]:
        """Everything that arrived so far, in order; waits until it is at least `count`."""
        arrived = self._ask({"op": "seen", "count": count, "seconds": seconds})["seen"]
        found = [Seen(**part) for part in arrived]
        assert len(found) >= count, f"{len(found)} of {count} parts arrived: {found}"
        return found

    def answer(self, chat: str, *, count: int = 1, seconds: float = WAIT_SECONDS) -> list[str]:
        """The texts that arrived in one chat, at least `count` of them."""
        total = 0
        while True:
            arrived = self.seen(count=total)
            here = [part.text for part in arrived if part.chat == chat]
            if len(here) >= count:
                return here
            total = len(arrived) + 1
            self.seen(count=total, seconds=seconds)

    def in_chat(self, chat: str) -> list[str]:
        """The texts that have arrived in one chat by now."""
        return [part.text for part in self.seen() if part.chat == chat]

    def acknowledged(self, *, offset: int = 0, seconds: float = WAIT_SECONDS) -> int:
        """How far the product has acknowledged; waits until it is at least `offset`."""
        reached: int = self._ask({"op": "acknowledged", "offset": offset, "seconds": seconds})["offset"]
        assert reached >= offset, f"acknowledged up to {reached}, not {offset}"
        return reached

    def offers(self) -> list[int]:
        """The offsets of all messages that polls were given, in order, repeats included."""
        offered: list[int] = self._ask({"op": "acknowledged", "offset": 0, "seconds": 0})["offered"]
        return offered

    def drop_next_answer(self) -> None:
        """The next part arrives, and its sender never hears of it."""
        self._fault(kind="drop_answer")

    def refuse_next(self) -> None:
        """The next part is refused for good."""
        self._fault(kind="refuse")

    def rate_limit_next(self, seconds: float) -> None:
        """The next part is to be sent again after so many seconds."""
        self._fault(kind="rate_limit", retry_after=seconds)

    def be_unreachable_once(self) -> None:
        """The next connection is closed before a word is said."""
        self._fault(kind="unreachable")

    def _fault(self, **fault: Any) -> None:
        self._ask({"op": "fault", "fault": fault})

    def _ask(self, request: dict[str, Any]) -> Any:
        with socket.create_connection(("127.0.0.1", self._port), timeout=60) as line:
            line.sendall(json.dumps(request).encode() + b"\n")
            with line.makefile("rb") as answers:
                return json.loads(answers.readline())


@contextmanager
def far_side() -> Generator[People]:
    """A platform with nobody on it yet, until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.harness.far_side"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ports = json.loads(process.stdout.readline())
        try:
            yield People(port=ports["people"], platform_port=ports["platform"])
        finally:
            process.stdin.close()
            process.wait(timeout=10)

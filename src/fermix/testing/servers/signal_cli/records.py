"""What tests read from the server and put into it: what was sent, which processes run, and what is to go wrong."""

import json
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

ACCOUNT = "+15550000001"
OLGA = "+15551001"
THEN = 1_790_000_000_000


def uuid_of(number: str) -> str:
    """The id of the user with a number."""
    return f"6f2c1b3a-0000-4000-8000-{int(number):012d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Something that the account has sent.

    Attributes:
        kind: the method.
        params: as JSON-RPC has them, whichever way it came.
        files: name and content of each attachment, as they were then.
    """

    kind: str
    timestamp: int
    params: Mapping[str, Any]
    files: tuple[tuple[str, bytes], ...] = ()

    @property
    def text(self) -> str:
        """Its words."""
        return str(self.params.get("message", ""))

    @property
    def place(self) -> str:
        """The group, or the first recipient."""
        return str(self.params.get("groupId") or self.params["recipient"][0])


@dataclass(slots=True, kw_only=True)
class Process:
    """One signal-cli that runs."""

    argv: list[str]
    pid: int
    environ: dict[str, str]
    write: Callable[[bytes], object]
    receives: bool = False
    heard: str = ""
    has_account: bool = False

    def order(self, **said: object) -> None:
        """Have it say or do something."""
        with suppress(OSError):
            self.write(json.dumps(said).encode() + b"\n")

    @property
    def command(self) -> str:
        """Which command it is."""
        return next((word for word in self.argv if word[0] != "-" and word != ACCOUNT), "")


@dataclass(slots=True)
class Fault:
    """What becomes of the next message that is sent."""

    kind: str
    seconds: int = 0


def kill(pid: int) -> None:
    """End a process of ours, and wait until it is gone; whoever started it can still ask how it ended."""
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

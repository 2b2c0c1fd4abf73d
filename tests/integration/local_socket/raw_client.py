"""A client that writes bytes and reads lines, and knows nothing else."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fermix.application.ports.control import AskAccepted, AskRequest
from tests.integration.local_socket.scripted_control import PATIENCE_SECONDS, Hold, Step

ASK = {"request": "r-1", "text": "hello", "session": "cli", "new": False, "user": "ada"}


class RawClient:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._reader = connection.makefile("rb")

    def send(self, verb: str, params: Any = None, *, request_id: str = "1", version: str = "1.0") -> None:
        request = {"id": request_id, "verb": verb, "version": version, "params": params or {}}
        self.connection.sendall(json.dumps(request).encode() + b"\n")

    def close(self) -> None:
        self._reader.close()
        self.connection.close()

    def read(self) -> Any:
        """The next line, or nothing at the end."""
        line = self._reader.readline()
        return json.loads(line) if line else None

    def read_end(self) -> Any:
        """The next line that is no event."""
        while "event" in (reply := self.read()):
            pass
        return reply


@contextmanager
def raw_client(path: Path) -> Iterator[RawClient]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(str(path))
        client = RawClient(connection)
        try:
            yield client
        finally:
            client.close()


def still_answers(path: Path) -> None:
    """The server lives."""
    with raw_client(path) as client:
        client.send("identify")
        assert client.read()["result"]["epoch"] == 4


def holding(request: AskRequest) -> list[Step]:
    """A turn that is accepted and then never ends."""
    return [AskAccepted(turn=None), Hold.FOREVER]

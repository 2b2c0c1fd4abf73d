"""The other side of the bare client: answers a line with a line, from a thread."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                text = json.loads(lines.readline())["text"]
                connection.sendall(json.dumps({"text": f"You said: {text}"}).encode() + b"\n")


@contextmanager
def floor_server(path: Path) -> Generator[None]:
    """Answer at this socket until the block is left."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)

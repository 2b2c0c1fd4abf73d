"""A model provider that answers at once and notes when it was asked: sockets and threads, nothing else."""

import json
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

_WORDS = ("Hello", " there", ", nice", " to", " meet", " you.")


def _event(delta: dict[str, str], finish: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


_BODY = (
    "".join(_event({"content": word}, None) for word in _WORDS) + _event({}, "stop") + "data: [DONE]\n\n"
).encode()
_REPLY = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n" % len(_BODY)
) + _BODY


class QuickProvider:
    """Where it is reached, and when each request had arrived.

    Attributes:
        base_url: for the configuration.
        asked: `time.monotonic()` of each request, in order.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        self.asked: list[float] = []

    def serve(self) -> None:
        """Answer until the listener is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            if not (data := connection.recv(65536)):
                return
            received += data
        head, _, body = received.partition(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        while len(body) < length:
            body += connection.recv(65536)
        self.asked.append(time.monotonic())
        connection.sendall(_REPLY)


@contextmanager
def quick_provider() -> Generator[QuickProvider]:
    """A provider on the loopback interface until the block is left."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        provider = QuickProvider(listener)
        thread = threading.Thread(target=provider.serve, daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)

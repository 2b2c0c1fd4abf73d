"""The server's side of a WebSocket, on the connection of a request: https://www.rfc-editor.org/rfc/rfc6455.

Without extensions. What is sent waits in a queue, so that its order is kept, anybody may send, and nobody waits.
"""

import base64
import hashlib
import queue
import struct
import threading
from collections.abc import Iterator
from typing import Any

from fermix.testing.servers.loopback import ClientLeft, Endpoint, Request

MAX_MESSAGE = 1024 * 1024
"""Bytes of the longest message that is read."""

CUT = 1006
"""The code of a connection that ended without a word."""

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CLOSING_SECONDS = 0.2
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_PROTOCOL_ERROR, _TOO_BIG = 1002, 1009


class WebSocket:
    """One connection, taken over from the endpoint that got the request; it is closed at the end of `messages`.

    Attributes:
        close_code: what the client closed it with, `CUT` if it did not, `None` while it is open.
    """

    def __init__(self, endpoint: Endpoint[Any], request: Request) -> None:
        key = request.headers.get("sec-websocket-key", "")
        if request.headers.get("upgrade", "").lower() != "websocket" or not key:
            endpoint.reply(426, b"", "text/plain", {"Upgrade": "websocket", "Connection": "Upgrade"})
            raise ClientLeft
        digest = base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()  # noqa: S324  # the protocol's
        endpoint.head(101, {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": digest})
        self.close_code: int | None = None
        self._endpoint = endpoint
        self._ended = threading.Event()
        self._waiting: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def send(self, message: str | bytes) -> None:
        """Send a message: text as text, bytes as bytes."""
        if isinstance(message, str):
            self._waiting.put((_TEXT, message.encode()))
        else:
            self._waiting.put((_BINARY, message))

    def close(self, code: int) -> None:
        """Close it with a code, after everything that was sent before."""
        self._waiting.put((_CLOSE, struct.pack("!H", code)))

    def messages(self) -> Iterator[bytes]:
        """What the client says, until the connection ends."""
        try:
            yield from self._read()
        except (ConnectionError, _Ended):
            pass
        finally:
            self.close_code = self.close_code or CUT
            self._ended.set()
            self._waiting.put((_CLOSE, b""))
            self._writer.join(_CLOSING_SECONDS)
            self._endpoint.cut()

    def _read(self) -> Iterator[bytes]:
        whole = bytearray()
        while True:
            is_last, kind, data = self._frame()
            if kind == _PING:
                self._waiting.put((_PONG, data))
            elif kind == _CLOSE:
                self.close_code = struct.unpack("!H", data[:2])[0] if len(data) >= 2 else 1005
                self._waiting.put((_CLOSE, data[:2]))
                return
            elif kind in {_CONTINUED, _TEXT, _BINARY}:
                whole += data
                if len(whole) > MAX_MESSAGE:
                    self._refuse(_TOO_BIG)
                if is_last:
                    yield bytes(whole)
                    whole.clear()

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._exactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self._exactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._exactly(8))
        if size > MAX_MESSAGE:
            self._refuse(_TOO_BIG)
        if first & 0x70 or not second & 0x80:
            self._refuse(_PROTOCOL_ERROR)
        mask, data = self._exactly(4), self._exactly(size)
        covered = (mask * (size // 4 + 1))[:size]
        plain = int.from_bytes(data, "big") ^ int.from_bytes(covered, "big")
        return bool(first & 0x80), first & 0x0F, plain.to_bytes(size, "big")

    def _exactly(self, size: int) -> bytes:
        data = self._endpoint.rfile.read(size)
        if len(data) < size:
            raise _Ended
        return data

    def _refuse(self, code: int) -> None:
        self.close(code)
        self._ended.wait(_CLOSING_SECONDS)
        raise _Ended

    def _write(self) -> None:
        kind = _TEXT
        try:
            while kind != _CLOSE:
                kind, data = self._waiting.get()
                self._endpoint.wfile.write(_head(kind, len(data)) + data)
        except OSError:
            return
        if not self._ended.wait(_CLOSING_SECONDS):
            self._endpoint.cut()


class _Ended(Exception):
    """Nothing more comes."""


def _head(kind: int, size: int) -> bytes:
    first = 0x80 | kind
    if size < 126:
        return struct.pack("!BB", first, size)
    if size < 1 << 16:
        return struct.pack("!BBH", first, 126, size)
    return struct.pack("!BBQ", first, 127, size)

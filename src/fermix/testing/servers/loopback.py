"""What all servers here stand on: real sockets on the loopback interface, one thread for each connection.

A server is four things. Its *world* is all it knows, behind one lock (`Platform`). Its *endpoint* answers requests
(`Endpoint`). Its *door* is the address, which can be closed and opened again (`Door`). And what tests hold is a
`Served`: people's side of the world, and what goes wrong with the line.
"""

import math
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread
from typing_extensions import override

Drop: TypeAlias = Literal["before", "after"]
"""Cut the line instead of answering: before anything happens, or after all of it did."""

PATIENCE = 10.0
"""Seconds that waiting for the far side lasts before it is an `AssertionError`."""

_T = TypeVar("_T")
_LOOK = 0.02
"""Seconds between two looks whether a client is still there."""
_DOOR_LOOK = 0.005
"""Seconds between two looks whether a door is to be closed."""


@dataclass(slots=True, kw_only=True)
class Platform:
    """What every world keeps of its connections; whoever touches a world holds `changed`.

    Attributes:
        sockets: of the connections that are open.
        hanging: how many requests get no answer at this moment.
        offline: every connection is broken at once.
        closing: nobody is answered any more.
    """

    changed: threading.Condition = field(default_factory=threading.Condition)
    sockets: set[socket.socket] = field(default_factory=set[socket.socket])
    hanging: int = 0
    offline: bool = False
    closing: bool = False

    def cut(self) -> None:
        """Break every open connection."""
        with self.changed:
            open_now = list(self.sockets)
        for each in open_now:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End whatever still waits."""
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self.cut()


_W = TypeVar("_W", bound=Platform)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What becomes of one request.

    Attributes:
        where: which requests it is for, in the platform's words.
        status: of an answer that refuses.
        retry_after: seconds, as a header.
        drop: see `Drop`.
        body: an answer that is none.
        hang: seconds without an answer, after which the line is cut; others are answered meanwhile.
        to: where a redirect leads.
    """

    where: str
    status: int | None = None
    retry_after: int | None = None
    drop: Drop | None = None
    body: str | None = None
    hang: float = 0.0
    to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it arrived; `path` and `query` are still quoted, names of headers are in small letters."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class ClientLeft(Exception):
    """The client has closed its side, or the server ends: nobody waits for the answer."""


class Endpoint(BaseHTTPRequestHandler, Generic[_W]):
    """Answers one connection. A platform says in `serve` what it answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    max_body: ClassVar[int] = 128 * 1024 * 1024
    """Bytes of the largest body that is read."""

    def __init__(self, world: _W, *connection: Any) -> None:
        self.world = world
        super().__init__(*connection)

    def serve(self, request: Request) -> None:
        """Answer one request."""
        raise NotImplementedError

    def refuse_body(self) -> None:
        """Answer a request whose body is larger than `max_body`; the connection ends after it."""
        self.reply(413, b"", "text/plain")

    def reply(
        self, status: int, data: bytes, kind: str = "application/json", more: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole answer."""
        self.head(status, {"Content-Type": kind, "Content-Length": str(len(data)), **(more or {})})
        self.wfile.write(data)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send what stands before an answer's body."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def cut(self) -> None:
        """Break the connection."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def is_gone(self) -> bool:
        """Whether nobody waits for an answer any more."""
        if self.world.closing:
            return True
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def hang(self, seconds: float) -> None:
        """Let the request wait; `math.inf` for ever.

        Raises:
            ClientLeft: nobody waits with it any more.
        """
        until = time.monotonic() + seconds
        with self.world.changed:
            self.world.hanging += 1
            self.world.changed.notify_all()
        try:
            while (left := until - time.monotonic()) > 0:
                with self.world.changed:
                    self.world.changed.wait(min(left, _LOOK))
                if self.is_gone():
                    raise ClientLeft
        finally:
            with self.world.changed:
                self.world.hanging -= 1

    def suffers(self, fault: Fault | None) -> bool:
        """Do to a request what a fault says, if that needs no word of the platform; whether it was done."""
        if fault is None:
            return False
        if fault.hang:
            self.hang(fault.hang)
        if fault.hang or fault.drop == "before":
            self.cut()
            return True
        if fault.to is not None:
            self.reply(302, b"", "text/plain", {"Location": fault.to})
            return True
        return False

    @override
    def setup(self) -> None:
        super().setup()
        with self.world.changed:
            self.world.sockets.add(self.connection)

    @override
    def finish(self) -> None:
        with self.world.changed:
            self.world.sockets.discard(self.connection)
            self.world.changed.notify_all()
        with suppress(ConnectionError):
            super().finish()

    @override
    def handle(self) -> None:
        if self.world.offline:
            return
        with suppress(ConnectionError):
            super().handle()

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: who runs a server reads `calls`, not a log."""

    def _arrives(self) -> None:
        body = self._body()
        if body is None:
            self.close_connection = True
            self.refuse_body()
            return
        address = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            self.serve(
                Request(
                    method=self.command, path=address.path, query=address.query, headers=headers, body=body
                )
            )
        except (ClientLeft, ConnectionError):
            self.close_connection = True

    def _body(self) -> bytes | None:
        """The body, or nothing when it is too large."""
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            length = int(self.headers.get("content-length") or 0)
            return self.rfile.read(length) if length <= self.max_body else None
        body = bytearray()
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            if len(body) + size > self.max_body:
                return None
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(body)

    do_DELETE = do_GET = do_PATCH = do_POST = do_PUT = _arrives  # noqa: N815  # names of the standard library


class Door(Generic[_W]):
    """The address of a world, open or closed; a client finds nobody at a closed one."""

    def __init__(self, world: _W, endpoint: type[Endpoint[_W]], port: int) -> None:
        self._answering = partial(endpoint, world)
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.port = port
        self.open()

    def open(self) -> None:
        """Take connections; at the same port as before."""
        if self._http is not None:
            return
        self._http = http = ThreadingHTTPServer(("127.0.0.1", self.port), self._answering)
        http.daemon_threads = True
        http.block_on_close = False
        self.port = http.server_address[1]
        self._thread = threading.Thread(
            target=http.serve_forever, kwargs={"poll_interval": _DOOR_LOOK}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Take no more connections; those that are open stay so."""
        http, thread = self._http, self._thread
        self._http = self._thread = None
        if http is not None and thread is not None:
            http.shutdown()
            thread.join()
            http.server_close()


class Directed(Generic[_W]):
    """A world in the hands of a test, from any thread. What waits must not run in the event loop of the client.

    Async tests wait by the methods that begin with `until`, which wait beside the loop.
    """

    def __init__(self, world: _W) -> None:
        self._world = world

    @property
    def connections(self) -> int:
        """How many connections are open."""
        with self._world.changed:
            return len(self._world.sockets)

    async def until_connections(self, most: int, *, seconds: float = PATIENCE) -> int:
        """Wait until no more connections are open; how many are."""
        found = partial(
            self.wait,
            lambda: len(self._world.sockets),
            lambda open_now: open_now <= most,
            f"{most} connections at most",
            seconds,
        )
        return await self.until(found)

    async def until_hanging(self) -> None:
        """Wait until a request gets no answer."""
        await self.until(partial(self.wait, lambda: self._world.hanging, bool, "a request that hangs"))

    async def until(self, work: Callable[[], _T]) -> _T:
        """Any waiting, beside the event loop."""
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    def wait(
        self, look: Callable[[], _T], holds: Callable[[_T], object], what: str, seconds: float = PATIENCE
    ) -> _T:
        """Wait until something holds of what is seen; what was seen then.

        Raises:
            AssertionError: it did not come to that in time.
        """
        until = time.monotonic() + seconds
        with self._world.changed:
            while not holds(found := look()):
                left = until - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"{what}: not within {seconds:g} s, found {found!r:.500}")
                self._world.changed.wait(None if left == math.inf else min(left, 0.05))
        return found

    def cut(self) -> None:
        """Break every connection."""
        self._world.cut()


class Served(Directed[_W]):
    """A world behind its door: a server that runs.

    Attributes:
        address: `http://127.0.0.1:<port>`, what every address of the server begins with.
    """

    def __init__(self, world: _W, endpoint: type[Endpoint[_W]], port: int) -> None:
        super().__init__(world)
        self._door = Door(world, endpoint, port)
        self.address = f"http://127.0.0.1:{self._door.port}"

    def goes_away(self) -> None:
        """Break every connection and refuse new ones, until it comes back at the same address."""
        self._door.close()
        self.cut()

    def comes_back(self) -> None:
        """Take connections again."""
        self._door.open()

    def close(self) -> None:
        """End everything."""
        self._world.close()
        self._door.close()
        self.cut()

"""The control socket's client: blocking calls and nothing heavy, so that a command answers at once.

It loads no event loop, no domain and no settings; a test pins the modules.
"""

import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fermix.infrastructure.local_socket.asking import (
    AskEvent,
    Question,
    decode_end,
    decode_event,
    encode_question,
)
from fermix.infrastructure.local_socket.daemon_file import read_daemon_file
from fermix.infrastructure.local_socket.fields import Fields, Malformed
from fermix.infrastructure.local_socket.file_events import FileEvent, encode_bytes
from fermix.infrastructure.local_socket.peer import peer_of
from fermix.infrastructure.local_socket.protocol import (
    SOCKET_NAME,
    VERSION,
    ErrorCode,
    Event,
    LineBuffer,
    ProtocolFault,
    Refusal,
    Request,
    Result,
    Verb,
    decode_reply,
    encode_request,
)

CONNECT_SECONDS = 5.0
CALL_SECONDS = 15.0
"""For a call that only looks or starts something."""

SILENCE_SECONDS = 60.0
"""Without any line in an `ask`, six times the server's sign of life: the other side hangs."""

LAST_WORD_SECONDS = 1.0
_CHUNK_BYTES = 64 * 1024
_PIECE_BYTES = 1024 * 1024


class ClientError(Exception):
    """The call was not answered; the message is one sentence for a person."""


class NoDaemon(ClientError):
    """Nobody listens in this home: the call never left."""


class Denied(ClientError):
    """This user may not talk to the owner of this home, or should not trust who listens."""


class ConnectionLost(ClientError):
    """The other side closed, died or hangs before the end: whether the call took effect is unknown."""


class Hangs(ConnectionLost):
    """The other side is there and says nothing: asking it again would only be another wait."""


class ForeignProtocol(ClientError):
    """The other side does not speak as it should."""


class Refused(ClientError):
    """The other side said no; `code` is one of the protocol's error codes, or a newer one."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RequestTooLarge(ClientError):
    """The call does not fit into one line of the protocol; it never left."""


class DeadlinePassed(ClientError):
    """The caller's own time limit passed first."""


class OutputClosed(ClientError):
    """Nobody reads the caller's output any more."""


class ControlClient:
    """One connection. Requests go one after another; closing it while an `ask` runs cancels the `ask`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = LineBuffer()
        self._sent = 0

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def call(
        self, verb: Verb, params: Mapping[str, Any] | None = None, *, seconds: float = CALL_SECONDS
    ) -> Mapping[str, Any]:
        """One request with one reply.

        Raises:
            ClientError: every kind but `NoDaemon` and `OutputClosed`.
        """
        deadline = time.monotonic() + seconds
        request_id = self._send(verb, params or {}, seconds)
        try:
            reply = self._reply(request_id, deadline=deadline)
        except DeadlinePassed:
            raise Hangs(f"The daemon did not answer within {seconds:g} s.") from None
        if isinstance(reply, Event):
            raise ForeignProtocol("The daemon sent an event where a result was due.")
        return reply.content

    def wait_closed(self, seconds: float) -> bool:
        """Wait until the other side ends the connection, which it does at its own end at the latest."""
        deadline = time.monotonic() + seconds
        while self._readable(deadline, None):
            try:
                if not self._connection.recv(_CHUNK_BYTES):
                    return True
            except OSError:
                return True
        return False

    def stop(self) -> None:
        """Ask the process to end in order; it may take a while after this returns.

        Raises:
            ClientError: as for `call`.
        """
        self.call(Verb.STOP)

    def attach(
        self, name: str, read: Callable[[int], bytes], *, size: int, deadline: float | None = None
    ) -> str:
        """Bring a file for the next question of this connection; the name that the question takes it by.

        Leaving early leaves nothing of it behind.

        Args:
            name: what the file is called, for people.
            read: gives up to so many of its next bytes, and none at its end; its errors pass through.
            size: how many there will be.
            deadline: the monotonic time after which the caller will not wait.

        Raises:
            ClientError: every kind but `NoDaemon` and `OutputClosed`; `Refused` says why it is not taken.
        """
        asked = self._send_until(deadline, Verb.ATTACH, {"name": name, "size": size})
        last = False
        while not last and not self._readable(time.monotonic(), None):  # a refusal comes before its end
            data = read(_PIECE_BYTES)
            last = not data
            self._send_until(deadline, Verb.PIECE, {"of": asked, "data": encode_bytes(data), "last": last})
        try:
            reply = self._reply(asked, deadline=deadline)
        except Refused as refused:
            raise _in_words(refused) from None
        try:
            return Fields(reply.content, "attach").text("file")
        except Malformed as error:
            raise ForeignProtocol(f"The daemon's reply is not understood. {error}") from error

    def ask(
        self, question: Question, *, deadline: float | None = None, output: int | None = None
    ) -> Iterator[AskEvent | FileEvent]:
        """Ask and follow the turn; the last event is an `Ended`. A file comes whole before the next other event.

        Args:
            question: what is asked.
            deadline: the monotonic time after which the caller will not wait.
            output: a descriptor that answers go to; when its reader goes away there is no point in waiting.

        Raises:
            ClientError: every kind but `NoDaemon`.
        """
        request_id = self._send_until(deadline, Verb.ASK, encode_question(question))
        while True:
            reply = self._reply(request_id, deadline=deadline, output=output)
            try:
                if isinstance(reply, Result):
                    yield decode_end(reply.content)
                    return
                event = decode_event(reply.content)
            except Malformed as error:
                raise ForeignProtocol(f"The daemon's reply is not understood. {error}") from error
            if event is not None:
                yield event

    def _send_until(self, deadline: float | None, verb: Verb, params: Mapping[str, Any]) -> str:
        try:
            return self._send(verb, params, _seconds_until(deadline, SILENCE_SECONDS))
        except ConnectionLost:
            if deadline is not None and time.monotonic() >= deadline:
                raise DeadlinePassed("The time limit passed.") from None
            raise

    def _send(self, verb: Verb, params: Mapping[str, Any], seconds: float) -> str:
        self._sent += 1
        request_id = str(self._sent)
        try:
            line = encode_request(Request(request_id, verb.value, VERSION, params))
        except ProtocolFault as fault:
            raise RequestTooLarge(str(fault)) from fault
        self._connection.settimeout(seconds)
        try:
            self._connection.sendall(line)
        except TimeoutError:
            raise Hangs(f"The daemon did not take the request within {seconds:g} s.") from None
        except OSError as error:
            self._raise_last_word(error)
        return request_id

    def _raise_last_word(self, error: OSError) -> None:
        """A server that hangs up while we write has mostly said why."""
        with suppress(DeadlinePassed, ConnectionLost, ForeignProtocol):
            self._reply(None, deadline=time.monotonic() + LAST_WORD_SECONDS)
        raise ConnectionLost("The daemon closed the connection.") from error

    def _reply(
        self, request_id: str | None, *, deadline: float | None = None, output: int | None = None
    ) -> Result | Event:
        try:
            reply = decode_reply(self._line(deadline, output))
        except ProtocolFault as fault:
            raise ForeignProtocol(f"The daemon's reply is not understood. {fault}") from fault
        if isinstance(reply, Refusal):
            if reply.code == ErrorCode.DENIED:
                raise Denied(reply.message)
            raise Refused(reply.code, reply.message)
        if reply.id != request_id:
            raise ForeignProtocol("The daemon answered another request.")
        return reply

    def _line(self, deadline: float | None, output: int | None) -> bytes:
        silent_at = time.monotonic() + SILENCE_SECONDS
        while (line := self._lines.next_line()) is None:
            limit = silent_at if deadline is None else min(deadline, silent_at)
            if not self._readable(limit, output):
                if limit == deadline:
                    raise DeadlinePassed("The time limit passed.")
                raise Hangs(f"Nothing was heard from the daemon for {SILENCE_SECONDS:g} s.")
            try:
                data = self._connection.recv(_CHUNK_BYTES)
            except OSError as error:
                raise ConnectionLost("The daemon broke off the connection.") from error
            if not data:
                raise ConnectionLost("The daemon closed the connection before it had answered.")
            self._lines.feed(data)
        return line

    def _readable(self, limit: float, output: int | None) -> bool:
        """Wait until there is something to read; false at the limit."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        if output is not None:
            poll.register(output, 0)
        while True:
            for descriptor, happened in poll.poll(max(0.0, limit - time.monotonic()) * 1000):
                if descriptor == self._connection.fileno():
                    return True
                if happened & select.POLLNVAL:
                    poll.unregister(descriptor)
                else:
                    raise OutputClosed("Nobody reads the output any more.")
            if time.monotonic() >= limit:
                return False


def connect(home: Path) -> ControlClient:
    """A connection to whoever owns this home.

    Raises:
        NoDaemon: nobody listens.
        Denied: the kernel refuses, or another user listens.
        ConnectionLost: the owner has more to do than it can take.
    """
    connection = _open(home / SOCKET_NAME)
    if connection is None:
        named = read_daemon_file(home)
        if named is not None and Path(named.socket) != home / SOCKET_NAME:
            connection = _open(_trusted(Path(named.socket)))
    if connection is None:
        raise NoDaemon("The daemon is not running.")
    return ControlClient(connection)


def _open(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_SECONDS)
    try:
        connection.connect(os.fspath(path))
        peer = peer_of(connection)
    except (TimeoutError, BlockingIOError):
        connection.close()
        raise ConnectionLost("The daemon is too busy to take another connection.") from None
    except PermissionError:
        connection.close()
        raise _denied(path) from None
    except OSError:  # no such file, nobody listens, a path too long for the kernel
        connection.close()
        return None
    if peer.uid != os.geteuid():
        connection.close()
        raise Denied(f"The control socket {path} is served by another user.")
    return connection


def _denied(path: Path) -> Denied:
    if os.access(path.parent, os.X_OK):
        return Denied(f"You may not use the control socket {path}.")
    remedy = "Correct its permissions if it is yours, or run as the user that owns it."
    return Denied(f"You may not enter {path.parent}. {remedy}")


def _trusted(path: Path) -> Path:
    """A socket outside the home is used only from a folder that nobody else can enter."""
    try:
        status = path.parent.stat()
    except OSError:
        return path
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise Denied(
            f"The folder {path.parent} of the control socket is not private; it must be yours, mode 0700."
        )
    return path


def _in_words(refused: Refused) -> Refused:
    if refused.code != ErrorCode.UNKNOWN_VERB:
        return refused
    return Refused(refused.code, "The running daemon is an older Fermix, which takes no files. Restart it.")


def _seconds_until(deadline: float | None, most: float) -> float:
    return most if deadline is None else min(most, max(0.001, deadline - time.monotonic()))

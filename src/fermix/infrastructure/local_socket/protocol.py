"""The language of the control socket: lines of JSON, their limits, versions and error codes.

Pure, and light to import: client and server share it, and the client must start at once.

A request is `{"id", "verb", "version", "params"}`. It is answered by any number of `{"id", "event"}` lines and
then by exactly one `{"id", "result"}` or `{"id", "error": {"code", "message"}}`.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from fermix.infrastructure.local_socket.fields import Fields, Malformed

MAX_LINE_BYTES = 4 * 1024 * 1024
"""The longest line, its newline not counted."""

MAX_ID_CHARACTERS = 64

MAX_NAME_CHARACTERS = 200
"""Of a session, a model or a user's name."""

MAJOR = 1
MINOR = 3
VERSION = f"{MAJOR}.{MINOR}"
"""A higher minor only adds; a higher major means that one side would be misunderstood."""

SOCKET_NAME = "daemon.sock"
"""The socket's file in the home, wherever the path is short enough for the kernel."""


class Verb(StrEnum):
    """What can be asked for. `cancel` has no reply of its own: the `ask` it names ends instead.

    Nor has `piece`, with bytes of the file that an `attach` began; that one is answered after the last of them.
    Since 1.1: `sessions`, `queue`, `resolve`. Since 1.2: `refused`. Since 1.3: `attach`, `piece`.
    """

    IDENTIFY = "identify"
    STATUS = "status"
    HEALTH = "health"
    ASK = "ask"
    CANCEL = "cancel"
    STOP = "stop"
    SESSIONS = "sessions"
    QUEUE = "queue"
    RESOLVE = "resolve"
    REFUSED = "refused"
    ATTACH = "attach"
    PIECE = "piece"


class ErrorCode(StrEnum):
    """Why a request was not answered."""

    BAD_REQUEST = "bad_request"
    TOO_LARGE = "too_large"
    UNKNOWN_VERB = "unknown_verb"
    UNSUPPORTED_VERSION = "unsupported_version"
    DENIED = "denied"
    BUSY = "busy"
    CANCELLED = "cancelled"
    DRAINING = "draining"
    UNAVAILABLE = "unavailable"
    ADMISSION_CONFLICT = "admission_conflict"
    INTERNAL = "internal"


class ProtocolFault(Exception):
    """A line that cannot be used. The message is one sentence for the other side."""

    def __init__(self, code: ErrorCode, message: str, *, request_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id


class Request(NamedTuple):
    """A request whose frame is right; verb and parameters are still to be judged."""

    id: str
    verb: str
    version: str
    params: Mapping[str, Any]


class Result(NamedTuple):
    """A request's good end."""

    id: str
    content: Mapping[str, Any]


class Event(NamedTuple):
    """Something on the way to a request's end."""

    id: str
    content: Mapping[str, Any]


class Refusal(NamedTuple):
    """A request's bad end; `id` is `None` when the line it answers had none. `code` may be a newer one."""

    id: str | None
    code: str
    message: str


class LineBuffer:
    """Cuts a stream of bytes into lines; holds at most one incomplete line, and what came with it."""

    def __init__(self, *, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held = bytearray()
        self._searched = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a next line has come."""
        return not self._held

    def feed(self, data: bytes) -> None:
        """Take what the stream gave."""
        self._held += data

    def next_line(self) -> bytes | None:
        """The next complete line without its newline, or `None` when more is needed.

        Raises:
            ProtocolFault: the line is longer than the limit; nothing after it can be read.
        """
        end = self._held.find(b"\n", self._searched)
        if (len(self._held) if end < 0 else end) > self._max_bytes:
            raise ProtocolFault(
                ErrorCode.TOO_LARGE, f"The line is longer than {self._max_bytes // 1024} KiB, the limit."
            )
        if end < 0:
            self._searched = len(self._held)
            return None
        line = bytes(self._held[:end])
        del self._held[: end + 1]
        self._searched = 0
        return line


def encode_line(message: Mapping[str, Any]) -> bytes:
    """One message as a line with its newline.

    A half of a surrogate pair, which UTF-8 cannot hold, becomes its JSON escape and survives.

    Raises:
        ProtocolFault: it would be longer than the limit.
    """
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    line = text.encode("utf-8", "backslashreplace")
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolFault(
            ErrorCode.TOO_LARGE, f"The message has {len(line)} bytes; the limit is {MAX_LINE_BYTES}."
        )
    return line + b"\n"


def decode_line(line: bytes) -> Mapping[str, Any]:
    """The JSON object of a line.

    Raises:
        ProtocolFault: it is not UTF-8, not JSON, nested too deeply, or not an object.
    """
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise ProtocolFault(ErrorCode.BAD_REQUEST, "The line is not UTF-8.") from None
    except RecursionError:
        raise ProtocolFault(ErrorCode.BAD_REQUEST, "The line is nested too deeply.") from None
    except ValueError:
        raise ProtocolFault(ErrorCode.BAD_REQUEST, "The line is not JSON.") from None
    if not isinstance(value, dict):
        raise ProtocolFault(ErrorCode.BAD_REQUEST, "The line is not a JSON object.")
    return value


def encode_request(request: Request) -> bytes:
    """A request as a line.

    Raises:
        ProtocolFault: it would be longer than the limit.
    """
    return encode_line(
        {"id": request.id, "verb": request.verb, "version": request.version, "params": request.params}
    )


def decode_request(line: bytes) -> Request:
    """A request of this major version, verb and parameters not looked at.

    Raises:
        ProtocolFault: the line is no request, or one of another major version; it has the request's id if any.
    """
    fields = Fields(decode_line(line), "request")
    identity: str | None = None
    try:
        identity = fields.text("id", max_characters=MAX_ID_CHARACTERS)
        version = fields.text("version")
        _check_version(version)
        return Request(identity, fields.text("verb"), version, fields.mapping("params"))
    except Malformed as error:
        raise ProtocolFault(ErrorCode.BAD_REQUEST, str(error), request_id=identity) from None
    except ProtocolFault as fault:
        raise ProtocolFault(fault.code, str(fault), request_id=identity) from None


def encode_result(request_id: str, content: Mapping[str, Any]) -> bytes:
    """A request's good end as a line.

    Raises:
        ProtocolFault: it would be longer than the limit.
    """
    return encode_line({"id": request_id, "result": content})


def encode_event(request_id: str, content: Mapping[str, Any]) -> bytes:
    """An event as a line.

    Raises:
        ProtocolFault: it would be longer than the limit.
    """
    return encode_line({"id": request_id, "event": content})


def encode_error(request_id: str | None, code: ErrorCode, message: str) -> bytes:
    """A request's bad end as a line."""
    return encode_line({"id": request_id, "error": {"code": code.value, "message": message}})


def decode_reply(line: bytes) -> Result | Event | Refusal:
    """What a server said.

    Raises:
        ProtocolFault: the line is no reply.
    """
    fields = Fields(decode_line(line), "reply")
    try:
        if "error" in fields:
            error = Fields(fields.mapping("error"), "error")
            return Refusal(fields.optional_text("id"), error.text("code"), error.text("message"))
        identity = fields.text("id")
        if "event" in fields:
            return Event(identity, fields.mapping("event"))
        return Result(identity, fields.mapping("result"))
    except Malformed as error:
        raise ProtocolFault(ErrorCode.BAD_REQUEST, str(error)) from None


def _check_version(version: str) -> None:
    major, dot, minor = version.partition(".")
    if not (dot and major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
        raise ProtocolFault(ErrorCode.BAD_REQUEST, "The request's `version` is not of the form 1.0.")
    if major.lstrip("0") != str(MAJOR):
        raise ProtocolFault(
            ErrorCode.UNSUPPORTED_VERSION,
            f"The running daemon speaks version {MAJOR} of the control protocol, this client another one. "
            "Restart the daemon so that both are the same Fermix.",
        )


def _refuse_constant(name: str) -> None:
    raise ValueError(name)

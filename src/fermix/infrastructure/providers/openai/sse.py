"""Server-sent events from bytes, without I/O and with a bound."""

from dataclasses import dataclass

from fermix.infrastructure.providers.openai.bounds import BOUNDS
from fermix.infrastructure.providers.openai.refusal import broken

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name (empty when the server gave none) and its data, lines joined by a line feed."""

    name: str
    data: str


class SseDecoder:
    """Turns any cutting of a byte stream into the same events.

    Follows the event stream format of the HTML standard with two allowances seen in the field: a last event
    without its blank line counts, and a field named `error` (old llama.cpp servers) is an event named `error`.
    """

    def __init__(self, *, max_event_bytes: int = BOUNDS.event_bytes) -> None:
        self._max_event_bytes = max_event_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._after_carriage_return = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes.

        Returns:
            The events they complete, oldest first.

        Raises:
            AnswerRefusedError: an event is larger than allowed.
        """
        if self._after_carriage_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_carriage_return = False
        if not chunk:
            return []
        self._after_carriage_return = chunk.endswith(b"\r")
        events = []
        for piece in chunk.splitlines(keepends=True):
            self._size += len(piece)
            if self._size > self._max_event_bytes:
                raise broken("an event of the stream is larger than allowed")
            self._pieces.append(piece)
            if piece.endswith((b"\n", b"\r")):
                event = self._line()
                if event is not None:
                    events.append(event)
        return events

    def finish(self) -> list[Event]:
        """The events that the end of the stream completes."""
        first = self._line() if self._pieces else None
        last = self._dispatch()
        return [event for event in (first, last) if event is not None]

    def _line(self) -> Event | None:
        line = b"".join(self._pieces).rstrip(b"\r\n")
        self._pieces.clear()
        if self._first:
            self._first = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"event":
            self._name = text
        elif field == b"data":
            self._data.append(text)
        elif field == b"error":
            self._name = "error"
            self._data.append(text)
        return None

    def _dispatch(self) -> Event | None:
        event = Event(self._name, "\n".join(self._data)) if self._data else None
        self._name = ""
        self._data = []
        self._size = 0
        return event

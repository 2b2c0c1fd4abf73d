"""What the strict server answers, as data; also readable from JSON for servers run as a process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Stage: TypeAlias = Literal["headers", "body", "middle"]
"""Where a `Hang` stops: before the headers, after them, or after the first words."""
End: TypeAlias = Literal["done", "close", "cut", "hang"]
"""How raw frames end: with the wire's end mark, with a clean end of the body, by breaking the line, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call to make."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A whole answer, streamed in pieces of `piece` characters with `pause` seconds between them.

    `reasoning` is what is thought before it: the Chat Completions wire streams it, the Responses wire its summary,
    which is the same text, to whoever asked for summaries.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    finish: str | None = None
    usage: tuple[int, int] = (3, 1)
    piece: int = 4
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Echo:
    """Answers with the last user message, after `You said: `."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoOrCall:
    """As `Echo`, but a user message whose last line begins with `word` is answered by a call of a tool first."""

    word: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An error reply; a `str` body is sent as it is."""

    status: int
    body: Mapping[str, Any] | str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """A 200 whose body is exactly these texts (each a complete event, or anything else)."""

    frames: tuple[str, ...]
    end: End = "done"
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Never goes on from this stage; ends when the client leaves or the server is closed."""

    stage: Stage


@dataclass(frozen=True, slots=True)
class Drop:
    """Closes the connection instead of answering."""


Answer: TypeAlias = Say | Echo | EchoOrCall | Refuse | Frames | Hang | Drop


def answer_from_json(value: Mapping[str, Any]) -> Answer:
    """Read one answer, e.g. `{"say": {…}}`, `{"refuse": {…}}`, `{"hang": "headers"}`, `{"echo": {}}`."""
    ((name, given),) = value.items()
    match name:
        case "say":
            calls = tuple(Call(**call) for call in given.pop("calls", ()))
            return Say(calls=calls, usage=tuple(given.pop("usage", (3, 1))), **given)
        case "refuse":
            return Refuse(**given)
        case "frames":
            return Frames(frames=tuple(given.pop("frames")), **given)
        case "hang":
            return Hang(stage=given)
        case "drop":
            return Drop()
        case "echo":
            return Echo()
        case _:
            raise ValueError(name)

"""An `ask` as its client sees it: the question and the events, readable without loading the domain.

Named tuples and plain words instead of the domain's classes: loading those takes as long as the whole answer of a
running daemon. A test holds the two in step.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from fermix.infrastructure.local_socket.fields import Fields
from fermix.infrastructure.local_socket.file_events import FileEvent, decode_file_event


class Question(NamedTuple):
    """What is asked; the fields are those of the control port's `AskRequest`.

    Attributes:
        files: what goes along, by the names that `ControlClient.attach` gave back on the same connection.
    """

    request: str
    text: str
    session: str = "cli"
    new: bool = False
    model: str | None = None
    cwd: str | None = None
    user: str = "operator"
    files: tuple[str, ...] = ()


class Ending(StrEnum):
    """How an `ask` ended; the words of the control port's `AskEnd`."""

    ANSWERED = "answered"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"


class Accepted(NamedTuple):
    """It is on disk; `turn` is `None` for a command."""

    turn: int | None


class TurnStarted(NamedTuple):
    """The turn runs and will ask this route."""

    provider: str
    model: str


class TextDelta(NamedTuple):
    """The next piece of what the model writes."""

    text: str


class ThoughtTold(NamedTuple):
    """What the model thought, in Markdown; no part of the answer."""

    text: str


class StepStarted(NamedTuple):
    """The model is asked again: what it wrote so far was commentary, not the answer."""

    step: int


class ToolStarted(NamedTuple):
    """A capability runs."""

    name: str


class ToolFinished(NamedTuple):
    """A capability returned; `failed` when its result is an error."""

    name: str
    failed: bool


class PromptShown(NamedTuple):
    """The owner is asked something, in Markdown; the answer is a message of its own."""

    text: str


class Missed(NamedTuple):
    """So many events were dropped because this client was too slow."""

    events: int


class Part(NamedTuple):
    """A piece of the reply in its final form; the end repeats it."""

    text: str


class Ended(NamedTuple):
    """The last event.

    Attributes:
        text: the whole reply, empty when nothing was said.
        notice: a sentence for stderr when there is no answer.
        outcome: of the turn, when one ran: a word of the domain's `Outcome`.
        failure: why there is no answer: a word of the domain's `FailureKind`.
    """

    end: Ending
    text: str
    notice: str | None = None
    outcome: str | None = None
    failure: str | None = None
    provider: str | None = None
    model: str | None = None


AskEvent: TypeAlias = (
    Accepted
    | TurnStarted
    | TextDelta
    | ThoughtTold
    | StepStarted
    | ToolStarted
    | ToolFinished
    | PromptShown
    | Missed
    | Part
    | Ended
)


def encode_question(question: Question) -> Mapping[str, Any]:
    """The parameters of an `ask`."""
    return {**question._asdict(), "files": list(question.files)}


def decode_event(content: Mapping[str, Any]) -> AskEvent | FileEvent | None:  # noqa: C901, PLR0911 - one return for each kind
    """An event on the way to the end, or `None` for one this client has no use for.

    A newer server may send kinds that did not exist when this client was made.

    Raises:
        Malformed: a field is missing or of another type.
    """
    fields = Fields(content, "event")
    match fields.text("type"):
        case "text_delta":
            return TextDelta(fields.text("text"))
        case "accepted":
            return Accepted(fields.optional_whole("turn"))
        case "part":
            return Part(fields.text("text"))
        case "turn_started":
            return TurnStarted(fields.text("provider"), fields.text("model"))
        case "thought_told":
            return ThoughtTold(fields.text("text"))
        case "step_started":
            return StepStarted(fields.whole("step"))
        case "tool_started":
            return ToolStarted(fields.text("name"))
        case "tool_finished":
            return ToolFinished(fields.text("name"), fields.flag("failed"))
        case "prompt_shown":
            return PromptShown(fields.text("text"))
        case "gap":
            return Missed(fields.whole("missed"))
        case "file" | "file_piece" | "file_broken":
            return decode_file_event(fields)
        case _:
            return None


def decode_end(content: Mapping[str, Any]) -> Ended:
    """The end of an `ask`.

    Raises:
        Malformed: a field is missing or of another type.
    """
    fields = Fields(content, "result")
    return Ended(
        end=fields.choice("end", Ending),
        text=fields.text("text"),
        notice=fields.optional_text("notice"),
        outcome=fields.optional_text("outcome"),
        failure=Fields(fields.mapping("failure"), "failure").text("kind") if "failure" in fields else None,
        provider=fields.optional_text("provider"),
        model=fields.optional_text("model"),
    )

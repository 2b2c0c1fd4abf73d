"""What a turn tells those who watch it, in numbered order; each event speaks of something already committed."""

from dataclasses import dataclass
from typing import TypeAlias

from fermix.domain.failure import Failure
from fermix.domain.turn import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The turn was claimed and runs; `provider` and `model` are the route it will ask."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """The next piece of the text the model is writing."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtTold:
    """The model told what it thought, in Markdown; it belongs to no answer and no history."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """The model is asked again (after tools): text seen so far was commentary, not the answer."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A capability runs."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A capability returned; `failed` when its result is an error."""

    call_id: str
    name: str
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptShown:
    """The owner is asked something; the turn does not wait for the answer. `text` is Markdown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettled:
    """The outcome is committed. `text` is the whole reply (answer or error sentence), possibly empty."""

    outcome: Outcome
    text: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted:
    """The last event: the reply's parts were delivered, or given up on."""

    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The reader was too slow and `missed` events are gone; what follows is still in order."""

    missed: int


TurnEvent: TypeAlias = (
    TurnStarted
    | TextDelta
    | ThoughtTold
    | StepStarted
    | ToolStarted
    | ToolFinished
    | PromptShown
    | TurnSettled
    | TurnCompleted
    | Gap
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """An event with its place in the turn, counted from 1; a gap's number is that of the first one missed."""

    number: int
    event: TurnEvent

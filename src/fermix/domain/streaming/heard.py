"""What the streaming machines take in: a turn's events as far as they say something of its text."""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from fermix.domain.events import (
    Gap,
    PromptShown,
    StepStarted,
    TextDelta,
    ThoughtTold,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnEvent,
    TurnSettled,
    TurnStarted,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The next piece of the text the model is writing."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDone:
    """The model finished what it wrote so far in this step; tools run now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A summary of the model's reasoning, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BeganAnew:
    """The text begins from nothing: the next step, the provider asked again, or the turn run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Pieces of the text are gone; what follows cannot be joined to what was heard."""


Heard: TypeAlias = Wrote | ItemDone | Thought | BeganAnew | Missed


def heard(event: TurnEvent) -> Heard | None:
    """What an event says of the text; `None` for nothing."""
    match event:
        case TextDelta(text=text):
            return Wrote(text=text)
        case ThoughtTold(text=text):
            return Thought(text=text)
        case ToolStarted():
            return ItemDone()
        case StepStarted() | TurnStarted():
            return BeganAnew()
        case Gap():
            return Missed()
        case ToolFinished() | PromptShown() | TurnSettled() | TurnCompleted():
            return None
        case _:
            assert_never(event)

"""The lines of `--stream-json`: what happens during an `ask`, one JSON object each."""

from typing import Any, assert_never

from fermix.entrypoints.cli.received_file import ReceivedFile, ShownEvent
from fermix.infrastructure.local_socket.asking import (
    Accepted,
    AskEvent,
    Ended,
    Missed,
    Part,
    PromptShown,
    StepStarted,
    TextDelta,
    ThoughtTold,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)


def event_document(event: ShownEvent, *, session: str) -> dict[str, Any]:
    """The object of one event. The end is another's to write, since it has the exit status.

    Args:
        event: anything but the end.
        session: the conversation, told once, with the acceptance.
    """
    if isinstance(event, ReceivedFile):
        return {"type": "file", **event.document()}
    return _ask_document(event, session)


def _ask_document(event: AskEvent, session: str) -> dict[str, Any]:  # noqa: C901, PLR0911 - one return for each kind
    match event:
        case Accepted(turn):
            return {"type": "accepted", "turn": turn, "session": session}
        case TurnStarted(provider, model):
            return {"type": "turn_started", "provider": provider, "model": model}
        case StepStarted(step):
            return {"type": "step_started", "step": step}
        case TextDelta(text):
            return {"type": "delta", "text": text}
        case ThoughtTold(text):
            return {"type": "thought", "text": text}
        case ToolStarted(name):
            return {"type": "tool_started", "name": name}
        case ToolFinished(name, failed):
            return {"type": "tool_finished", "name": name, "failed": failed}
        case PromptShown(text):
            return {"type": "prompt_shown", "text": text}
        case Missed(events):
            return {"type": "missed", "events": events}
        case Part(text):
            return {"type": "part", "text": text}
        case Ended():
            raise ValueError("the end of an ask is written with its exit status")
        case _:
            assert_never(event)

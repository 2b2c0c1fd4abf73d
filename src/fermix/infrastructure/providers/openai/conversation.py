"""A history as providers can take it: each call with its results, ids and texts they will not refuse."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from fermix.domain.history import AssistantEntry, CallRecord, HistoryEntry, MarkerEntry, ToolEntry, UserEntry
from fermix.infrastructure.providers.openai.foreign import well_formed

NO_RESULT = "(No result was recorded for this call.)"
_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Said:
    """What reaches the model in the user's place: one or more messages and notes, in order."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the model said, and one result for each call it made, in call order."""

    text: str
    calls: tuple[CallRecord, ...]
    results: tuple[ToolEntry, ...]
    provider_state: str | None


Step: TypeAlias = Said | Answered


def steps(entries: Sequence[HistoryEntry], *, provider: str, tools: bool) -> list[Step]:
    """Order a history for the wire.

    A call whose result is missing gets one that says so, and a result without its call is left out: providers
    refuse either, and would refuse every later request too. User messages and notes that follow each other are
    joined, since the chat templates of many small models insist on alternating roles. Blank answers without
    calls are left out.

    Args:
        entries: oldest first.
        provider: whose request this is; the state and the call ids of other providers are not sent to it.
        tools: whether the model knows tools; if not, calls and results are left out.
    """
    out: list[Step] = []
    position = 0
    while position < len(entries):
        entry = entries[position]
        position += 1
        match entry:
            case UserEntry(text=text):
                _say(out, text)
            case MarkerEntry(text=text):
                _say(out, f"[Note by the system, not written by the user: {text}]")
            case AssistantEntry():
                first = position
                while position < len(entries) and isinstance(entries[position], ToolEntry):
                    position += 1
                results = [item for item in entries[first:position] if isinstance(item, ToolEntry)]
                answered = _answered(entry, results, provider=provider, tools=tools)
                if answered.calls or answered.text.strip():
                    out.append(answered)
            case ToolEntry():
                pass
            case _:
                assert_never(entry)
    return out


def _say(out: list[Step], text: str) -> None:
    text = well_formed(text)
    if out and isinstance(out[-1], Said):
        out[-1] = Said(f"{out[-1].text}\n\n{text}")
    else:
        out.append(Said(text))


def _answered(entry: AssistantEntry, results: list[ToolEntry], *, provider: str, tools: bool) -> Answered:
    own = entry.provider == provider
    if not entry.calls or not tools:
        state = entry.provider_state if own else None
        return Answered(text=well_formed(entry.text), calls=(), results=(), provider_state=state)
    by_id = {result.call_id: result for result in reversed(results)}
    calls: list[CallRecord] = []
    answers: list[ToolEntry] = []
    for call in entry.calls:
        call_id = call.call_id if own else _neutral_id(call.call_id)
        name = _NAME.sub("_", call.name)[:64] or "unnamed"
        result = by_id.get(call.call_id) or ToolEntry(call_id=call.call_id, name=call.name, text=NO_RESULT)
        calls.append(replace(call, call_id=call_id, name=name, arguments=well_formed(call.arguments)))
        answers.append(replace(result, call_id=call_id, name=name, text=well_formed(result.text)))
    return Answered(
        text=well_formed(entry.text),
        calls=tuple(calls),
        results=tuple(answers),
        provider_state=entry.provider_state if own else None,
    )


def _neutral_id(call_id: str) -> str:
    """An id that every provider takes for a call another one made; Mistral wants nine letters or digits."""
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:9]

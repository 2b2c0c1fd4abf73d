"""A history as providers can take it: each call with its results, ids and texts they will not refuse."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias, assert_never

from fermix.domain.history import AssistantEntry, CallRecord, HistoryEntry, MarkerEntry, ToolEntry, UserEntry
from fermix.infrastructure.providers.openai.foreign import well_formed

NO_RESULT = "(No result was recorded for this call.)"
NOT_SHOWN = "[A picture came with this. You cannot see it now.]"
_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A picture in its place between texts."""

    mime_type: str
    content: bytes = field(repr=False)

    @property
    def data_url(self) -> str:
        """The picture itself, in the form in which both wires carry one."""
        return f"data:{self.mime_type};base64,{base64.b64encode(self.content).decode()}"


@dataclass(frozen=True, slots=True)
class Said:
    """What reaches the model in the user's place: messages, notes, pictures, in order; no two texts in a row."""

    parts: tuple[str | Shown, ...]

    @property
    def text(self) -> str | None:
        """All of it, when it is one text: the form that every server takes."""
        match self.parts:
            case (str() as text,):
                return text
            case _:
                return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the model said, and one result for each call it made, in call order."""

    text: str
    calls: tuple[CallRecord, ...]
    results: tuple[ToolEntry, ...]
    provider_state: str | None


Step: TypeAlias = Said | Answered


def steps(
    entries: Sequence[HistoryEntry],
    *,
    provider: str,
    tools: bool,
    pictures: Mapping[str, bytes] = MappingProxyType({}),
) -> list[Step]:
    """Order a history for the wire.

    A call whose result is missing gets one that says so, and a result without its call is left out: providers
    refuse either, and would refuse every later request too. User messages and notes that follow each other are
    joined, since the chat templates of many small models insist on alternating roles. Blank answers without
    calls are left out.

    Args:
        entries: oldest first.
        provider: whose request this is; the state and the call ids of other providers are not sent to it.
        tools: whether the model knows tools; if not, calls and results are left out.
        pictures: by digest, what is shown; other pictures are mentioned in their place.
    """
    out: list[Step] = []
    position = 0
    while position < len(entries):
        entry = entries[position]
        position += 1
        match entry:
            case UserEntry():
                _say(out, *_parts(entry, pictures))
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


def _parts(entry: UserEntry, pictures: Mapping[str, bytes]) -> list[str | Shown]:
    """What a person said, then the pictures that came with it."""
    parts: list[str | Shown] = [entry.text] if entry.text.strip() or not entry.pictures else []
    for picture in entry.pictures:
        content = pictures.get(picture.content.digest)
        shown = None if content is None else Shown(mime_type=picture.mime_type, content=content)
        parts.append(shown or NOT_SHOWN)
    return parts


def _say(out: list[Step], *parts: str | Shown) -> None:
    last = out[-1] if out else None
    said = list(last.parts) if isinstance(last, Said) else []
    for part in parts:
        _add(said, part)
    if isinstance(last, Said):
        out.pop()
    out.append(Said(tuple(said)))


def _add(said: list[str | Shown], part: str | Shown) -> None:
    """Put a part behind the others; providers refuse a blank text beside a picture."""
    before = said[-1] if said else None
    if isinstance(part, Shown):
        if isinstance(before, str) and not before.strip():
            said.pop()
        said.append(part)
    elif isinstance(before, str):
        said[-1] = f"{before}\n\n{well_formed(part)}"
    elif part.strip() or not said:
        said.append(well_formed(part))


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

"""What telemetry events are made of: words, names, counts, times and the id of a turn; never a text of anybody."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import product
from operator import attrgetter
from types import NoneType
from typing import Annotated, NewType, get_args, get_origin, get_type_hints

from fermix.domain.ids import TurnId

MAX_NAME = 80
"""Characters kept of a name that comes from settings or a registration."""

Name = NewType("Name", str)
"""What somebody on our side calls something: a provider, a model, a command, a tool. Made by `name_of`."""

SessionId = NewType("SessionId", str)
"""The one id that ties events to a turn: `main-<number of the turn>`."""

SESSION = "main-"
"""What the number of a turn follows in its session id."""


def name_of(text: str) -> Name:
    """A name as events carry it."""
    return Name(text if len(text) <= MAX_NAME else text[:MAX_NAME])


def session_of(turn: TurnId) -> SessionId:
    """The id of a turn as events carry it."""
    return SessionId(f"{SESSION}{turn}")


class TraceFile(StrEnum):
    """Which of a day's files an event is written to."""

    CHANNEL_MSG = "channel_msg"
    AGENT_EVENT = "agent_event"
    LLM_CALL = "llm_call"
    TOOL_EXEC = "tool_exec"


class FieldKind(StrEnum):
    """What a field holds. Words are of a closed list; times are in seconds."""

    WORD = "word"
    NAME = "name"
    FLAG = "flag"
    COUNT = "count"
    SECONDS = "seconds"
    SESSION = "session id"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One field of an event.

    Attributes:
        optional: the event may lack it.
        words: what a word can be.
    """

    name: str
    kind: FieldKind
    meaning: str
    optional: bool
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventKind:
    """A registered event, with what reading and checking it quickly needs.

    Attributes:
        name: `fermix.` and its place, as the outside knows it.
        meaning: when it is emitted.
        fields: in the order in which `read` gives their values.
        signatures: every combination of types that its values may have.
    """

    name: str
    meaning: str
    trace: TraceFile
    fields: tuple[FieldSpec, ...]
    read: Callable[[object], tuple[object, ...]]
    signatures: frozenset[tuple[type, ...]]


def kind_of(event: type) -> EventKind:
    """What a class of events says of itself: `NAME`, `TRACE`, its docstring, and its annotated fields.

    Raises:
        ValueError: it has fewer than two fields, or one that is nothing an event may carry.
    """
    hints = get_type_hints(event, include_extras=True)
    names = [field.name for field in fields(event)]
    if len(names) < 2:
        raise ValueError(f"{event.__name__} has fewer than two fields")
    told = [_field(name, hints[name]) for name in names]
    return EventKind(
        name=vars(event)["NAME"],
        meaning=" ".join((event.__doc__ or "").split()),
        trace=vars(event)["TRACE"],
        fields=tuple(spec for spec, _ in told),
        read=attrgetter(*names),
        signatures=frozenset(product(*(types for _, types in told))),
    )


def _field(name: str, hint: object) -> tuple[FieldSpec, tuple[type, ...]]:
    if get_origin(hint) is not Annotated:
        raise ValueError(f"{name} does not say what it means")
    inner, meaning = get_args(hint)
    members = get_args(inner) or (inner,)
    (held,) = (member for member in members if member is not NoneType)
    kind, plain = _kind(name, held)
    optional = NoneType in members
    spec = FieldSpec(
        name=name,
        kind=kind,
        meaning=str(meaning),
        optional=optional,
        words=tuple(held) if kind is FieldKind.WORD else (),
    )
    return spec, (plain, NoneType) if optional else (plain,)


_PLAIN = {bool: FieldKind.FLAG, int: FieldKind.COUNT, float: FieldKind.SECONDS}


def _kind(name: str, held: object) -> tuple[FieldKind, type]:
    if held is SessionId:
        return FieldKind.SESSION, str
    if isinstance(held, NewType):
        if held.__supertype__ is str:
            return FieldKind.NAME, str
    elif isinstance(held, type):
        if issubclass(held, StrEnum):
            return FieldKind.WORD, held
        if held in _PLAIN:
            return _PLAIN[held], held
    raise ValueError(f"{name} is nothing that an event may carry")

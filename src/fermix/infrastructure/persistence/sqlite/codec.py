"""Our values as text for a column and back; what `encode` wrote decodes to an equal value, else `ValueError`."""

import dataclasses
import json
import types
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache, lru_cache
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar, Union, assert_never, cast, get_args, get_origin, get_type_hints

import orjson

from fermix.domain.delivery import MediaPart, Part, ReactionPart, TextPart
from fermix.domain.history import AssistantEntry, HistoryEntry, MarkerEntry, ToolEntry, UserEntry
from fermix.domain.ids import PlatformMessageId
from fermix.domain.message import InboundMessage
from fermix.domain.route import Route, Target

T = TypeVar("T")

Json: TypeAlias = Any
"""Foreign until checked: what a column held."""

_ROUTES_KEPT = 1024
_ENTRIES_KEPT = 4096
_LONGEST_KEPT = 1000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ROLES: Mapping[str, type[HistoryEntry]] = types.MappingProxyType(
    {"user": UserEntry, "assistant": AssistantEntry, "tool": ToolEntry, "marker": MarkerEntry}
)


def to_ms(instant: datetime) -> int:
    """Milliseconds since 1970, rounded down."""
    return (instant - _EPOCH) // timedelta(milliseconds=1)


def from_ms(milliseconds: int) -> datetime:
    """The instant in UTC."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def storable(text: str) -> str:
    """Text a column can hold: halves of surrogate pairs, which no UTF-8 has, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def encode_message(message: InboundMessage) -> str:
    """The message as JSON."""
    return _dumps(message)


def decode_message(text: str) -> InboundMessage:
    """The message that `encode_message` wrote."""
    return _read(InboundMessage, _loads(text))


def encode_part(part: Part) -> str:
    """The part as JSON, with its kind."""
    match part:
        case TextPart(text=text, draft=draft, choices=choices):
            shown = {} if draft is None else {"draft": draft}
            buttons = {"choices": [dataclasses.asdict(choice) for choice in choices]} if choices else {}
            return _dumps({"kind": "text", "text": text, **shown, **buttons})
        case MediaPart():
            return _dumps({**dataclasses.asdict(part), "kind": "media", "shown_as": part.kind})
        case ReactionPart():
            return _dumps({"kind": "reaction", **dataclasses.asdict(part)})
        case _:
            assert_never(part)


def decode_part(text: str) -> Part:
    """The part that `encode_part` wrote."""
    raw = _loads(text)
    kind = raw.pop("kind", None) if isinstance(raw, dict) else None
    match kind:
        case "text":
            return _read(TextPart, raw)
        case "media":
            return _read(MediaPart, {"kind": raw.pop("shown_as", None), **raw})
        case "reaction":
            return _read(ReactionPart, raw)
        case _:
            raise ValueError("not an outgoing part of a kind this version knows")


def encode_entry(entry: HistoryEntry) -> tuple[str, str]:
    """A history entry as its role and its content."""
    match entry:
        case UserEntry():
            role = "user"
        case AssistantEntry():
            role = "assistant"
        case ToolEntry():
            role = "tool"
        case MarkerEntry():
            role = "marker"
        case _:
            assert_never(entry)
    return role, _dumps(entry)


def decode_entry(role: str, content: str) -> HistoryEntry:
    """The entry that `encode_entry` wrote; a turn reads its whole history, most of which the last one read too."""
    return (
        _decode_entry(role, content) if len(content) > _LONGEST_KEPT else _decode_short_entry(role, content)
    )


def _decode_entry(role: str, content: str) -> HistoryEntry:
    shape = _ROLES.get(role)
    if shape is None:
        raise ValueError(f"unknown history role {role!r}")
    return _read(shape, _loads(content))


_decode_short_entry = lru_cache(maxsize=_ENTRIES_KEPT)(_decode_entry)


@lru_cache(maxsize=_ROUTES_KEPT)
def decode_route(key: str) -> Route:
    """The route of that key; those met lately are not read anew for each row that names them."""
    return Route.parse(key)


def decode_target(key: str, reply_to: str | None) -> Target:
    """The target of that key; the message replied to stands in a column of its own."""
    route = decode_route(key)
    return Target(
        channel=route.channel,
        account=route.account,
        chat=route.chat,
        thread=route.thread,
        reply_to=None if reply_to is None else PlatformMessageId(reply_to),
    )


def _plain(value: object) -> Json:
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"no JSON form for {type(value).__name__}")


def _dumps(value: Json) -> str:
    try:
        return orjson.dumps(value, default=_plain).decode()
    except orjson.JSONEncodeError:
        # Text with half a surrogate pair (platforms send such) has no UTF-8; the standard library escapes it.
        of_ours = dataclasses.is_dataclass(value) and not isinstance(value, type)
        plain = dataclasses.asdict(value) if of_ours else value
        return json.dumps(plain, default=_plain)


def _loads(text: str) -> Json:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def _read(of: type[T], raw: Json) -> T:
    """Build a dataclass from JSON; a field that has a default may be missing, as an older version left it."""
    read: Callable[[Json], T] = _reader(cast("Hashable", of))
    return read(raw)


@cache
def _reader(hint: Any) -> Callable[[Json], Any]:
    """What reads a value of a type; built once per type, since a claim reads dozens of them."""
    hint = getattr(hint, "__supertype__", hint)
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        (inner,) = (kind for kind in get_args(hint) if kind is not types.NoneType)
        return _optional(_reader(inner))
    if origin is tuple:
        return _items(_reader(get_args(hint)[0]))
    if dataclasses.is_dataclass(hint):
        return _fields(hint)
    if hint in {str, int, bool}:
        return _exactly(hint)
    if issubclass(hint, Enum | PurePath):
        return _from_text(hint)
    if issubclass(hint, datetime):
        return _from_text(datetime.fromisoformat)
    raise TypeError(f"no stored form for {hint}")


def _optional(read: Callable[[Json], Any]) -> Callable[[Json], Any]:
    return lambda raw: None if raw is None else read(raw)


def _items(read: Callable[[Json], Any]) -> Callable[[Json], Any]:
    def read_items(raw: Json) -> Any:
        if type(raw) is not list:
            raise ValueError("stored value is no list")
        return tuple([read(item) for item in raw])

    return read_items


def _fields(of: Any) -> Callable[[Json], Any]:
    hints = get_type_hints(of)
    fields = dataclasses.fields(of)
    readers = {field.name: _reader(hints[field.name]) for field in fields}
    required = {
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }

    def read_fields(raw: Json) -> Any:
        if type(raw) is not dict or not required <= raw.keys() <= readers.keys():
            raise ValueError(f"not a stored {of.__name__}")
        return of(**{name: readers[name](value) for name, value in raw.items()})

    return read_fields


def _exactly(kind: type[Any]) -> Callable[[Json], Any]:
    def read_exactly(raw: Json) -> Any:
        if type(raw) is not kind:
            raise ValueError(f"stored value is no {kind.__name__}")
        return raw

    return read_exactly


def _from_text(parse: Callable[[str], Any]) -> Callable[[Json], Any]:
    def read_text(raw: Json) -> Any:
        if type(raw) is not str:
            raise ValueError("stored value is no text")
        return parse(raw)

    return read_text

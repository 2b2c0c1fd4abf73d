"""One key of the configuration by its dotted name: what kind of value it takes, or what was probably meant."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, auto
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from fermix.infrastructure.settings.channels import ALLOWLIST_ALIAS, RESERVED_CHANNEL_KEYS, ChannelSettings
from fermix.infrastructure.settings.entry_points import PackageUnusable
from fermix.infrastructure.settings.foreign_sections import INSTALLED, ChannelPlugins, is_free
from fermix.infrastructure.settings.keys import ABSENT, entries_of, free_entries, keys_of, section_of
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import dotted

_MOST_NAMED = 3
_ALIKE = 0.5
_ANY_NAME = "<name>"
_MARK = "the value"
_POLICY_FIELDS = ("owner_user_id", "allowlist", "command_allowlist")

NamePath = tuple[str, ...]
"""The names from the top of the file to a key."""


class ValueKind(Enum):
    """How the value of a key is written."""

    TEXT = auto()
    SECRET = auto()
    SWITCH = auto()
    WHOLE = auto()
    NUMBER = auto()
    LIST = auto()
    SECRETS = auto()
    SECTION = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """A key that the configuration may have.

    Attributes:
        path: under its own name, also when it was asked for under another one.
        kind: what its value is; `SECTION`: it is a table of keys, `SECRETS`: a table of free names and secrets.
        is_policy: whether a running daemon takes an edit of it at once.
    """

    path: NamePath
    kind: ValueKind
    is_policy: bool = False


class UnknownKey(Exception):
    """There is no such key; the text names the nearest ones. `nearest` holds them, best first."""

    def __init__(self, text: str, *, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.nearest = nearest


def read_key(text: str) -> NamePath:
    """A dotted name as TOML writes it: `a.b`, `a."odd name".c`.

    Raises:
        UnknownKey: it is not one.
    """
    names: list[str] = []
    try:
        is_line = "\n" not in text and is_utf_8(text)
        value: Any = tomllib.loads(f'{text} = "{_MARK}"') if is_line else None
    except tomllib.TOMLDecodeError:
        value = None
    while isinstance(value, dict) and len(value) == 1:
        ((name, value),) = value.items()
        names.append(name)
    if value != _MARK or not names:
        raise UnknownKey(f"'{text}' is not a key; write it with dots, odd names in quotes: a.b.\"odd name\"")
    return tuple(names)


def is_utf_8(text: str) -> bool:
    """Whether a file can hold the text: an argument of a command that is no UTF-8 comes as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_key(path: NamePath, *, plugins: ChannelPlugins = INSTALLED) -> KnownKey:
    """What the key is. The package of a channel that is none of ours is loaded to know its keys.

    Raises:
        UnknownKey: there is none of that name, or only in another version, or its package cannot be used.
    """
    return _Search(path, plugins).find()


class _Search:
    """Goes down the models along one path."""

    def __init__(self, path: NamePath, plugins: ChannelPlugins) -> None:
        self._path = path
        self._plugins = plugins
        self._own: NamePath = ()
        self._model: type[BaseModel] = Settings

    def find(self) -> KnownKey:
        rest = self._path
        while rest:
            name, rest = rest[0], rest[1:]
            info = keys_of(self._model).get(self._own_name(name))
            if info is None:
                entry = self._foreign(name) if self._at_channels() else free_entries(self._model)
                if entry is None:
                    raise self._unknown(name)
                self._go(name, entry)
            elif section := section_of(info):
                self._go(name, section)
            elif entry := entries_of(info):
                self._own = (*self._own, name)
                if rest:
                    name, rest = rest[0], rest[1:]
                    self._go(name, entry)
            else:
                return self._value(self._own_name(name), info, rest)
        return KnownKey(path=self._own, kind=ValueKind.SECTION)

    def _go(self, name: str, model: type[BaseModel]) -> None:
        self._own = (*self._own, name)
        self._model = model

    def _foreign(self, name: str) -> type[BaseModel] | None:
        if not is_free(name) or name not in self._plugins.names():
            return None
        try:
            return self._plugins.load(name).settings
        except PackageUnusable as exc:
            raise UnknownKey(f"{dotted(self._path)}: {exc}") from exc

    def _at_channels(self) -> bool:
        return self._own == ("fermix_channels",)

    def _own_name(self, name: str) -> str:
        if name == ALLOWLIST_ALIAS and issubclass(self._model, ChannelSettings):
            return self._model.model_fields["allowlist"].alias or name
        return name

    def _value(self, name: str, info: FieldInfo, rest: NamePath) -> KnownKey:
        path = (*self._own, name)
        kind = _kind(info.annotation)
        if rest and (kind is not ValueKind.SECRETS or len(rest) > 1):
            raise UnknownKey(f"{dotted(self._path)}: {dotted(path)} is a value and has no keys")
        if rest:
            return KnownKey(path=(*path, *rest), kind=ValueKind.SECRET)
        return KnownKey(path=path, kind=kind, is_policy=self._is_policy(info))

    def _is_policy(self, info: FieldInfo) -> bool:
        if self._own[:1] == ("sandbox",):
            return True
        fields = self._model.model_fields
        return issubclass(self._model, ChannelSettings) and any(
            fields[name] is info for name in _POLICY_FIELDS
        )

    def _unknown(self, name: str) -> UnknownKey:
        shown = dotted(self._path)
        if (*self._own, name) in ABSENT:
            return UnknownKey(f"{shown}: belongs to a feature that this version does not have")
        is_channel = issubclass(self._model, ChannelSettings)
        if (is_channel and name in RESERVED_CHANNEL_KEYS) or (self._at_channels() and name == "defaults"):
            return UnknownKey(f"{shown}: is not yet supported")
        nearest = nearest_keys(self._path)
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        return UnknownKey(f"{shown}: is not a known key{hint}", nearest=nearest)


def nearest_keys(path: NamePath) -> tuple[str, ...]:
    """The names of up to three keys that were probably meant, best first."""
    known = [_filled(pattern, path) for pattern in _patterns(Settings, ())]
    elsewhere = [dotted(each) for each in known if each[-1] == path[-1]]
    alike = {dotted(each) for each in known if get_close_matches(path[-1], [each[-1]], cutoff=_ALIKE)}
    close = get_close_matches(dotted(path), sorted(alike), n=_MOST_NAMED, cutoff=0.75)
    return tuple(dict.fromkeys([*close, *elsewhere]))[:_MOST_NAMED]


def _filled(pattern: NamePath, path: NamePath) -> NamePath:
    """The names of a key with the asked for one's at the places where any name is allowed."""
    if len(pattern) != len(path):
        return pattern
    return tuple(own if name == _ANY_NAME else name for name, own in zip(pattern, path, strict=True))


def _patterns(model: type[BaseModel], path: NamePath) -> Iterator[NamePath]:
    for name, info in keys_of(model).items():
        here = (*path, name)
        if section := section_of(info):
            yield from _patterns(section, here)
        elif entry := entries_of(info):
            yield from _patterns(entry, (*here, _ANY_NAME))
        else:
            yield here
    if path != ("fermix_channels",) and (free := free_entries(model)):
        yield from _patterns(free, (*path, _ANY_NAME))


_BY_TYPE: dict[Any, ValueKind] = {
    bool: ValueKind.SWITCH,
    int: ValueKind.WHOLE,
    float: ValueKind.NUMBER,
    str: ValueKind.TEXT,
    Path: ValueKind.TEXT,
    SecretStr: ValueKind.SECRET,
}


def _kind(annotation: Any) -> ValueKind:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in {Union, UnionType}:
        return _kind(next(part for part in inner if part is not type(None)))
    if origin is tuple:
        return ValueKind.LIST
    if origin is Literal:
        return ValueKind.TEXT
    return _BY_TYPE.get(annotation, ValueKind.SECRETS)

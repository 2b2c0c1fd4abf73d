"""Which keys of the configuration a change of the sandbox touches, and how that looks. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, assert_never

from fermix.domain.sandbox_changes import (
    AllowVariable,
    DenyVariable,
    DisablePreset,
    EnablePreset,
    GrantPath,
    RevokePath,
    SandboxChange,
    SetMode,
    SetProfile,
    SetVariable,
    UnsetVariable,
)
from fermix.infrastructure.settings.document_edit import with_value
from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.list_edit import with_items
from fermix.infrastructure.settings.value_text import key_text, toml_text

ALLOWED_ROOTS: NamePath = ("sandbox", "allowed_roots")
_MODE: NamePath = ("sandbox", "mode")
_ENV: NamePath = ("sandbox", "env")
_PROFILE: NamePath = ("sandbox", "commands", "profile")
_PRESETS: NamePath = ("sandbox", "commands", "presets")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEdit:
    """One key before and after; `before` is `None` where it is not there."""

    path: NamePath
    before: str | list[str] | None
    after: str | list[str]


def key_edits(
    change: SandboxChange, table: Mapping[str, Any], *, is_at: Callable[[str, PurePath], bool]
) -> tuple[KeyEdit, ...]:
    """What has to change in a file; nothing where it says so already.

    Args:
        change: with a canonical path.
        table: what the file says; it loads.
        is_at: whether a path as it stands in the file means a canonical one.
    """
    edits = _Edits(table)
    match change:
        case GrantPath():
            if not any(is_at(entry, change.path) for entry in edits.texts(ALLOWED_ROOTS)):
                edits.add(ALLOWED_ROOTS, str(change.path))
        case RevokePath():
            edits.remove(ALLOWED_ROOTS, lambda entry: is_at(entry, change.path))
        case SetMode():
            edits.put(_MODE, change.mode.value, usual="standard")
        case AllowVariable() | SetVariable() | DenyVariable() | UnsetVariable():
            _variable_edits(change, edits)
        case SetProfile():
            edits.put(_PROFILE, change.profile.value, usual="bare")
        case EnablePreset():
            edits.add(_PRESETS, change.preset.value)
        case DisablePreset():
            edits.remove(_PRESETS, _is(change.preset.value))
        case _:
            assert_never(change)
    return edits.made()


def _variable_edits(
    change: AllowVariable | SetVariable | DenyVariable | UnsetVariable, edits: "_Edits"
) -> None:
    name, allow, deny = change.name, (*_ENV, "allow"), (*_ENV, "deny")
    match change:
        case AllowVariable() | SetVariable():
            edits.add(allow, name)
            edits.remove(deny, _is(name))
        case DenyVariable():
            edits.remove(allow, _is(name))
            edits.add(deny, name)
        case UnsetVariable():
            edits.remove(allow, _is(name))
    if isinstance(change, SetVariable):
        edits.put((*_ENV, name, "source"), "command", usual="env")
        edits.put((*_ENV, name, "command"), change.command, usual=None)
        edits.set_list((*_ENV, name, "args"), list(change.arguments))


def _is(name: str) -> Callable[[str], bool]:
    return lambda entry: entry.strip() == name


class _Edits:
    """Collects edits of one file."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self._made: dict[NamePath, KeyEdit] = {}

    def texts(self, path: NamePath) -> list[str]:
        found = self._value(path)
        return [str(entry) for entry in found] if isinstance(found, list) else []

    def add(self, path: NamePath, item: str) -> None:
        present = self.texts(path)
        if not any(map(_is(item), present)):
            self.set_list(path, [*present, item])

    def remove(self, path: NamePath, is_meant: Callable[[str], bool]) -> None:
        self.set_list(path, [entry for entry in self.texts(path) if not is_meant(entry)])

    def set_list(self, path: NamePath, items: list[str]) -> None:
        present = self.texts(path)
        if items != present:
            before = present if isinstance(self._value(path), list) else None
            self._made[path] = KeyEdit(path=path, before=before, after=items)

    def put(self, path: NamePath, value: str, *, usual: str | None) -> None:
        found = self._value(path)
        present = found.strip() if isinstance(found, str) else ""
        if (present or usual) != value:
            before = found if isinstance(found, str) else None
            self._made[path] = KeyEdit(path=path, before=before, after=value)

    def made(self) -> tuple[KeyEdit, ...]:
        return tuple(self._made.values())

    def _value(self, path: NamePath) -> Any:
        inner: Any = self._table
        for name in path:
            inner = inner.get(name) if isinstance(inner, Mapping) else None
        return inner


def diff_of(edits: Iterable[KeyEdit]) -> tuple[str, ...]:
    """The edits as lines of TOML, old ones after `- `, new ones after `+ `, each table under its header."""
    lines: list[str] = []
    table: NamePath | None = None
    for edit in edits:
        if edit.path[:-1] != table:
            table = edit.path[:-1]
            lines.append(f"[{key_text(table)}]")
        key = key_text(edit.path[-1:])
        if edit.before is not None:
            lines.append(f"- {key} = {toml_text(edit.before)}")
        lines.append(f"+ {key} = {toml_text(edit.after)}")
    return tuple(lines)


def edited(text: str, edits: Iterable[KeyEdit]) -> str:
    """The text of the file with the edits made.

    Raises:
        EditRefused: it cannot be changed so without touching something else.
    """
    for edit in edits:
        if isinstance(edit.after, list):
            text = with_items(text, edit.path, edit.after)
        else:
            text = with_value(text, edit.path, edit.after)
    return text

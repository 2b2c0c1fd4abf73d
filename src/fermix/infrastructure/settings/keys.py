"""Which keys a table may have, read from the models; what is not among them is refused or set aside here.

Done before values are looked at, so that a wrong key gets the nearest right one, keys to come and sections of
features we do not have get an answer of their own, and one wrong key does not hide the next.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fermix.infrastructure.settings.channels import (
    ALLOWLIST_ALIAS,
    RESERVED_CHANNEL_KEYS,
    Channels,
    ChannelSettings,
)
from fermix.infrastructure.settings.nearest import nearest_name
from fermix.infrastructure.settings.problems import KeyPath, dotted
from fermix.infrastructure.settings.section import FromCode

_CORE_ABSENT = (
    "realtime browser plugins oauth plugin_secrets meetings harness skill_curation computer_history companion"
    " network"
)
ABSENT: frozenset[tuple[str, ...]] = frozenset(
    {
        *(("fermix_core", name) for name in _CORE_ABSENT.split()),
        *(
            ("fermix_core", "routing", f"meeting_{name}")
            for name in ("model", "provider", "reasoning_effort")
        ),
        ("fermix_core", "transcription", "local_offered"),
        ("fermix_channels", "acp"),
        ("fermix_channels", "mobile"),
        ("fermix_channels", "imessage"),
        ("mcp", "inbound"),
    }
)
"""Keys of the original that belong to features we do not have: named in one warning, without effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFinding:
    """A key that cannot stay, and why."""

    path: KeyPath
    text: str
    suggestion: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTable:
    """A table with nothing but known keys.

    Attributes:
        table: what is left; keys that were written under another name have their own one.
        findings: keys that were refused.
        absent: keys that were set aside because the feature does not exist here.
        written: for keys that were renamed, the name that stands in the file.
    """

    table: dict[str, Any] = field(repr=False)
    findings: tuple[KeyFinding, ...]
    absent: tuple[KeyPath, ...]
    written: Mapping[KeyPath, KeyPath]


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The keys a file may have in this table, with their fields."""
    return {
        info.alias or name: info
        for name, info in model.model_fields.items()
        if not any(isinstance(mark, FromCode) for mark in info.metadata)
    }


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    """The model of a field that is a table with fixed keys."""
    return _model(info.annotation)


def entries_of(info: FieldInfo) -> type[BaseModel] | None:
    """The model of the entries of a field that is a table with free keys, such as `providers`."""
    if get_origin(info.annotation) is Mapping:
        return _model(get_args(info.annotation)[1])
    return None


def free_entries(model: type[BaseModel]) -> type[BaseModel] | None:
    """The model of the tables that may stand beside a table's fixed keys, such as the commands of the sandbox."""
    if model.model_config.get("extra") != "allow":
        return None
    return _model(get_args(get_type_hints(model)["__pydantic_extra__"])[1])


def check_keys(
    table: Mapping[str, Any],
    model: type[BaseModel],
    *,
    channels: Mapping[str, type[ChannelSettings]],
    unread: Collection[str] = (),
    installed: Callable[[], Collection[str]] = tuple,
) -> CheckedTable:
    """Keep what is known and say what is not.

    Args:
        table: the whole file.
        model: the model of the whole file.
        channels: the settings classes of channels from other packages, by section name.
        unread: sections of channels that are left out without being looked at.
        installed: names of all channels that other packages bring; asked where a name is not known.
    """
    check = _KeyCheck(model, channels, unread, installed)
    kept = check.table(table, model, ())
    return CheckedTable(
        table=kept, findings=tuple(check.findings), absent=tuple(check.absent), written=check.written
    )


class _KeyCheck:
    def __init__(
        self,
        model: type[BaseModel],
        channels: Mapping[str, type[ChannelSettings]],
        unread: Collection[str],
        installed: Callable[[], Collection[str]],
    ) -> None:
        self._channels = channels
        self._unread = unread
        self._installed = installed
        self._homes = _homes_of_keys(model, ())
        self.findings: list[KeyFinding] = []
        self.absent: list[KeyPath] = []
        self.written: dict[KeyPath, KeyPath] = {}

    def table(self, table: Mapping[str, Any], model: type[BaseModel], path: KeyPath) -> dict[str, Any]:
        known = keys_of(model)
        kept: dict[str, Any] = {}
        for written, value in table.items():
            here = (*path, written)
            key = self._own_name(written, table, model, path)
            if model is Channels and written in self._unread:
                continue
            if here in ABSENT:
                self.absent.append(here)
            elif _is_reserved(here):
                self.findings.append(KeyFinding(path=here, text="is not yet supported"))
            elif key in known:
                kept |= self._field(key, value, known[key], path)
            elif (entry := self._entry(model, written)) and (isinstance(value, Mapping) or model is Channels):
                kept |= self._section(written, value, entry, path)
            else:
                self._refuse(written, model, path)
        return kept

    def _field(self, key: str, value: Any, info: FieldInfo, path: KeyPath) -> dict[str, Any]:
        if section := section_of(info):
            return self._section(key, value, section, path)
        entry = entries_of(info)
        if entry is None:
            return {key: value}
        if not isinstance(value, Mapping):
            return self._no_table((*path, key))
        entries: dict[str, Any] = {}
        for name, inner in value.items():
            entries |= self._section(name, inner, entry, (*path, key))
        return {key: entries}

    def _section(self, key: str, value: Any, model: type[BaseModel], path: KeyPath) -> dict[str, Any]:
        here = (*path, key)
        return {key: self.table(value, model, here)} if isinstance(value, Mapping) else self._no_table(here)

    def _no_table(self, path: KeyPath) -> dict[str, Any]:
        # Said here, since a table from the environment would replace the value before pydantic sees it.
        self.findings.append(KeyFinding(path=path, text="must be a table"))
        return {}

    def _entry(self, model: type[BaseModel], name: str) -> type[BaseModel] | None:
        return self._channels.get(name) if issubclass(model, Channels) else free_entries(model)

    def _own_name(self, written: str, table: Mapping[str, Any], model: type[BaseModel], path: KeyPath) -> str:
        if written != ALLOWLIST_ALIAS or not issubclass(model, ChannelSettings):
            return written
        own = model.model_fields["allowlist"].alias or "allowlist"
        if own == ALLOWLIST_ALIAS:
            return written
        if own in table:
            text = f"is another name for {own}, which is there too; keep one"
            self.findings.append(KeyFinding(path=(*path, written), text=text))
        self.written[*path, own] = (*path, written)
        return own

    def _refuse(self, key: str, model: type[BaseModel], path: KeyPath) -> None:
        known = set(keys_of(model))
        if issubclass(model, Channels):
            known |= {*self._channels, *self._installed()}
        elsewhere = [dotted(home) for home in self._homes.get(key, ()) if home[:-1] != path]
        moved = elsewhere[0] if len(elsewhere) == 1 else None
        suggestion = nearest_name(key, known, at_least=0.75) or moved or nearest_name(key, known)
        text = "is not a known channel" if issubclass(model, Channels) else "is not a known key"
        if suggestion is None:
            text += f"; known here: {', '.join(sorted(known))}"
        self.findings.append(KeyFinding(path=(*path, key), text=text, suggestion=suggestion))


def _is_reserved(path: KeyPath) -> bool:
    match path:
        case ("fermix_channels", "defaults"):
            return True
        case ("fermix_channels", _, str(key)):
            return key in RESERVED_CHANNEL_KEYS
    return False


def _homes_of_keys(model: type[BaseModel], path: KeyPath) -> dict[str, list[KeyPath]]:
    """Every key of the fixed tables, with the places it belongs to: for a key that stands in the wrong table."""
    homes: dict[str, list[KeyPath]] = {}
    for key, info in keys_of(model).items():
        homes.setdefault(key, []).append((*path, key))
        if section := section_of(info):
            for inner, places in _homes_of_keys(section, (*path, key)).items():
                homes.setdefault(inner, []).extend(places)
    return homes


def _model(annotation: Any) -> type[BaseModel] | None:
    if get_origin(annotation) in {Union, UnionType}:
        found = [model for part in get_args(annotation) if (model := _model(part))]
        return found[0] if found else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None

"""What is in force, key by key, and which layer says so."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from fermix.infrastructure.settings.config_file import read_config_file
from fermix.infrastructure.settings.environment import read_environment
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.keys import check_keys, entries_of, keys_of
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import KeyPath
from fermix.infrastructure.settings.stored import AskNobody, StoredValues

_NOBODY = AskNobody()


class Layer(StrEnum):
    """Where a value comes from; the later one wins."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The layer of a value, with the line of the file or the name of the variable.

    Attributes:
        place: where a secret is kept that the line only points at, in words.
    """

    layer: Layer
    line: int | None = None
    variable: str | None = None
    place: str | None = None

    def words(self) -> str:
        """For a person: `default`, `file, line 7`, `environment, PORT`, `file, line 7: the system's keychain`."""
        if self.line is not None:
            place = "" if self.place is None else f": {self.place}"
            return f"{self.layer}, line {self.line}{place}"
        return self.layer.value if self.variable is None else f"{self.layer}, {self.variable}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """One key with what is in force; `None` is unset. Secrets stay wrapped."""

    path: NamePath
    value: object = field(repr=False)
    origin: Origin

    @property
    def is_secret(self) -> bool:
        """Whether a secret is in it."""
        if isinstance(self.value, Mapping):
            return any(isinstance(inner, SecretStr) for inner in self.value.values())
        return isinstance(self.value, SecretStr)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSettings:
    """Everything in force.

    Attributes:
        loaded: as a start would have it.
        values: every key, in the order of the documentation; keys under free names where there are any.
        variables: names of variables that are set and count for no single key, such as `FERMIX_PROVIDER`.
    """

    loaded: LoadedSettings
    values: tuple[EffectiveValue, ...]
    variables: tuple[str, ...]


def effective_settings(
    home: Path, environ: Mapping[str, str], *, stores: StoredValues = _NOBODY
) -> EffectiveSettings:
    """Read everything and say where it comes from.

    Args:
        home: an absolute folder.
        environ: the environment.
        stores: asked for secrets that are kept elsewhere.

    Raises:
        ConfigError: with every problem that was found.
    """
    loaded = load_settings(home, environ, stores=stores)
    file = read_config_file(home / CONFIG_FILE)
    checked = check_keys(
        file.table, Settings, channels={name: plugin.settings for name, plugin in loaded.plugins.items()}
    )
    environment = read_environment(environ)
    places = {each.key: each.place for each in loaded.stored}

    def origin(path: KeyPath) -> Origin:
        if path in environment.origins:
            return Origin(layer=Layer.ENVIRONMENT, variable=environment.origins[path])
        line = file.lines.get(checked.written.get(path, path))
        if line is None:
            return Origin(layer=Layer.DEFAULT)
        return Origin(layer=Layer.FILE, line=line, place=places.get(path))

    values = tuple(
        EffectiveValue(path=path, value=value, origin=origin(path))
        for path, value in _leaves(loaded.settings, ())
    )
    paths = {each.path for each in values}
    beside = (name for path, name in environment.origins.items() if path not in paths)
    return EffectiveSettings(loaded=loaded, values=values, variables=tuple(beside))


def _leaves(section: BaseModel, path: NamePath) -> Iterator[tuple[NamePath, Any]]:
    """The values of a table first and its own tables after them, as a TOML file must have it."""
    tables: list[tuple[NamePath, BaseModel]] = []
    keys = keys_of(type(section))
    for name, info in type(section).model_fields.items():
        key = info.alias or name
        if key not in keys:
            continue
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            tables.append(((*path, key), value))
        elif entries_of(info) is not None:
            tables.extend(((*path, key, entry), inner) for entry, inner in value.items())
        else:
            yield (*path, key), value
    tables.extend(((*path, name), inner) for name, inner in (section.model_extra or {}).items())
    for inner_path, inner in tables:
        yield from _leaves(inner, inner_path)

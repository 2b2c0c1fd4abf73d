"""What stands in the file and the environment now, before anything is asked. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.problems import KeyPath

PROVIDERS: NamePath = ("fermix_core", "providers")
CHANNELS: NamePath = ("fermix_channels",)
TRANSCRIPTION: NamePath = ("fermix_core", "transcription")
OLD_PRIMARY: NamePath = ("fermix_core", "agent", "provider")


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A file that loads, as its raw table, and the keys that variables set.

    Attributes:
        table: what the file says; a secret that is kept elsewhere stands there as its sentinel.
        variables: keys that the environment sets, with the variable's name.
    """

    table: Mapping[str, Any] = field(repr=False, default_factory=dict)
    variables: Mapping[KeyPath, str] = field(default_factory=dict)

    def section(self, path: NamePath) -> Mapping[str, Any]:
        """A table of the file; empty where there is none."""
        inner: Any = self.table
        for name in path:
            inner = inner.get(name) if isinstance(inner, Mapping) else None
        return inner if isinstance(inner, Mapping) else {}

    def value(self, path: NamePath) -> Any:
        """What the file says; `None` where it says nothing, or only blanks."""
        found = self.section(path[:-1]).get(path[-1])
        return None if isinstance(found, str) and not found.strip() else found

    def text(self, path: NamePath) -> str | None:
        """The same as trimmed text: ids may be written as numbers."""
        found = self.value(path)
        return None if found is None or isinstance(found, Mapping | list) else str(found).strip()

    def has(self, path: NamePath) -> bool:
        """Whether the file or the environment sets the key."""
        return self.value(path) is not None or path in self.variables

    @property
    def providers(self) -> tuple[str, ...]:
        """Providers that the file configures, in its order."""
        return tuple(name for name in self.section(PROVIDERS) if self._is_configured(name))

    @property
    def primary(self) -> str | None:
        """The provider that the file marks, in the new way or the old one."""
        marked = (
            name for name in self.section(PROVIDERS) if self.value((*PROVIDERS, name, "primary")) is True
        )
        return next(marked, self.text(OLD_PRIMARY))

    def _is_configured(self, name: str) -> bool:
        section = (*PROVIDERS, name)
        keys = ("api_key", "base_url", "default_model", "primary", "auth_mode", "model_path")
        return any(self.value((*section, key)) not in {None, False} for key in keys)

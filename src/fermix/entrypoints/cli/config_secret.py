"""`fermix config set` of a key whose secret is kept elsewhere: the store changes, and the file does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fermix.application.ports.secrets import SecretStoreError
from fermix.entrypoints.stored_secrets import StoredSecrets
from fermix.infrastructure.settings.config_file import ConfigFile, read_config_file
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.key_names import KnownKey, ValueKind
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.problems import KeyPath
from fermix.infrastructure.settings.stored import KEYCHAIN, Found, sentinel_in


@dataclass(frozen=True, slots=True)
class _Only:
    """Gives one key its new secret and leaves the others unread."""

    key: KeyPath
    text: str

    def values(self, wanted: Mapping[KeyPath, str], *, profile: str) -> Mapping[KeyPath, Found]:  # noqa: ARG002
        """See `StoredValues.values`."""
        return {self.key: self.text} if self.key in wanted else {}


def sentinel_of(known: KnownKey | None, home: Path) -> str | None:
    """What stands in the file in place of the key's secret; `None` where it holds the value, or none.

    Raises:
        ConfigError: the file is broken.
    """
    if known is None or known.kind is not ValueKind.SECRET:
        return None
    return sentinel_in(_value(read_config_file(home / CONFIG_FILE), known.path))


def change_stored(
    known: KnownKey, text: str, *, sentinel: str, home: Path, environ: Mapping[str, str]
) -> str:
    """Put a new secret where the old one is kept; where that is, in words. Blocks.

    Raises:
        ConfigError: a start would refuse the value, or the file is broken.
        SecretStoreError: the store did not take it; what it held is unchanged.
    """
    own = {"HOME": environ["HOME"]} if "HOME" in environ else {}
    loaded = load_settings(home, own, stores=_Only(known.path, text))
    kept = StoredSecrets(
        home, environ, profile=loaded.settings.core.profile, keychain=sentinel == KEYCHAIN
    ).keep(known.path, text)
    return kept.place


def forget_stored(known: KnownKey, *, profile: str, home: Path, environ: Mapping[str, str]) -> str | None:
    """Remove a secret that the file no longer points at; why that failed, if it did. Blocks."""
    try:
        StoredSecrets(home, environ, profile=profile).forget(known.path)
    except SecretStoreError as exc:
        return f"the secret itself may still be where it was kept: {exc}"
    return None


def _value(file: ConfigFile, path: KeyPath) -> object:
    inner: object = file.table
    for name in path:
        inner = inner.get(name) if isinstance(inner, Mapping) else None
    return inner

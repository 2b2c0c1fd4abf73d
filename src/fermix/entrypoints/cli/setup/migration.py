"""Moving secrets that stand in the file as plain text into a store: all of them or none."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fermix.entrypoints.cli.setup.changes import Put, applied
from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.cli.setup.saving import SavedSetup, keeping
from fermix.infrastructure.settings.config_file import ConfigFile, read_config_file
from fermix.infrastructure.settings.editing import FileBusy, edit_config
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.key_names import NamePath, UnknownKey, ValueKind, find_key
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.stored import sentinel_in
from fermix.infrastructure.system.home import open_home


def plain_secrets(table: Mapping[str, Any]) -> dict[NamePath, str]:
    """The secrets that a file holds itself, by their keys. Pure but for the package of a channel of others."""
    return {
        path: text.strip()
        for path, text in _texts(table, ())
        if text.strip() and sentinel_in(text) is None and _is_secret(path)
    }


def migrate(home: Path, environ: Mapping[str, str]) -> SavedSetup:
    """Move them. Blocks.

    Raises:
        ConfigError, EditRefused, FileBusy, HomeUnusable, SecretStoreError, OSError: nothing was changed.
    """
    own = {"HOME": environ["HOME"]} if "HOME" in environ else {}
    load_settings(home, own)  # a broken file is refused before a store is asked
    path = home / CONFIG_FILE
    secrets = plain_secrets(read_config_file(path).table)
    if not secrets:
        return SavedSetup(path=path, changes=(), kept={})
    open_home(home)
    changes = tuple(Put(path=key, value=text, secret=True) for key, text in secrets.items())
    with keeping(home, environ, secrets) as kept:
        sentinels = {key: each.sentinel for key, each in kept.items()}

        def edit(text: str, file: ConfigFile) -> str:
            now = Present(table=file.table)
            if any(now.text(key) != secret for key, secret in secrets.items()):
                raise FileBusy(f"{path} was changed meanwhile; nothing was moved, try again")
            return applied(text, changes, sentinels)

        saved = edit_config(home, edit, environ=environ)
    return SavedSetup(path=saved.path, changes=changes, kept=kept)


def _texts(table: Mapping[str, Any], path: NamePath) -> Iterator[tuple[NamePath, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _texts(value, (*path, name))
        elif isinstance(value, str):
            yield (*path, name), value


def _is_secret(path: NamePath) -> bool:
    try:
        return find_key(path).kind is ValueKind.SECRET
    except UnknownKey:
        return False

"""Saving: secrets into a store, everything else into the file in one edit, and all of it or nothing."""

import fcntl
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fermix.application.ports.secrets import SecretStoreError, SecretsUnavailable
from fermix.entrypoints.cli.setup.answers import Answers
from fermix.entrypoints.cli.setup.changes import Change, applied, plan, secrets_in
from fermix.entrypoints.cli.setup.present import Present
from fermix.entrypoints.stored_secrets import Kept, StoredSecrets
from fermix.infrastructure.settings.config_file import ConfigFile, read_config_file
from fermix.infrastructure.settings.editing import FileBusy, edit_config
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.loading import load_settings
from fermix.infrastructure.settings.problems import KeyPath, dotted
from fermix.infrastructure.settings.stored import PRIVATE_FILE, sentinel_in
from fermix.infrastructure.system.home import open_home

LOCK_SECONDS = 20.0
"""How long one setup waits for another to save; a keychain may take some seconds."""

_LOCK = ".setup.lock"
_LOOK_EVERY_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSetup:
    """What was saved.

    Attributes:
        path: the file.
        changes: to its keys, and the secrets that were kept.
        kept: where each secret is now.
    """

    path: Path
    changes: tuple[Change, ...]
    kept: Mapping[NamePath, Kept]


def save(home: Path, environ: Mapping[str, str], answers: Answers) -> SavedSetup:
    """Save what was told. Blocks.

    What becomes primary and what is enabled is decided from the file as it is when it is replaced, so that two
    setups at once do not undo each other.

    Raises:
        ConfigError, EditRefused, FileBusy, HomeUnusable, SecretStoreError, OSError: nothing was changed.
    """
    open_home(home)
    made: list[tuple[Change, ...]] = []

    def edit_with(kept: Mapping[NamePath, Kept]) -> Callable[[str, ConfigFile], str]:
        sentinels = {path: each.sentinel for path, each in kept.items()}

        def edit(text: str, file: ConfigFile) -> str:
            made.append(plan(answers, Present(table=file.table)))
            return applied(text, made[-1], sentinels)

        return edit

    with keeping(home, environ, secrets_in(answers)) as kept:
        saved = edit_config(home, edit_with(kept), environ=environ)
    return SavedSetup(path=saved.path, changes=made[-1], kept=kept)


@contextmanager
def keeping(
    home: Path, environ: Mapping[str, str], secrets: Mapping[NamePath, str]
) -> Generator[Mapping[NamePath, Kept]]:
    """Keep secrets, and undo that where the block fails: what a store held before is there again.

    No other setup of this home saves while the block lasts.

    Raises:
        SecretStoreError: one is not kept, or reads back as another one; all are as before.
        FileBusy: another setup does not end.
    """
    with _only_setup(home):
        stores = _Stores(home, environ)
        before = stores.held(secrets)
        kept: dict[NamePath, Kept] = {}
        try:
            for path, secret in secrets.items():
                kept[path] = stores.own.keep(path, secret)
            stores.verify(secrets, kept)
            yield kept
        except BaseException:
            stores.undo(kept, before)
            raise


class _Stores:
    """The stores of a home, as its file says where secrets go."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        own = {"HOME": environ["HOME"]} if "HOME" in environ else {}
        core = load_settings(home, own).settings.core
        in_file = core.secret_store == "file"  # noqa: S105 - the name of a place
        self._table = read_config_file(home / CONFIG_FILE).table
        self._only_file = StoredSecrets(home, environ, profile=core.profile, keychain=False)
        self.own = self._only_file if in_file else StoredSecrets(home, environ, profile=core.profile)

    def held(self, secrets: Mapping[NamePath, str]) -> Mapping[NamePath, tuple[str, str]]:
        """What stands in place of these keys and what is there; only stores that the file points at are asked."""
        present = Present(table=self._table)
        pointed: dict[KeyPath, str] = {
            path: sentinel for path in secrets if (sentinel := sentinel_in(present.value(path))) is not None
        }
        found = self.own.values(pointed) if pointed else {}
        return {
            path: (pointed[path], text)
            for path in secrets
            if path in pointed and isinstance(text := found.get(path), str)
        }

    def verify(self, secrets: Mapping[NamePath, str], kept: Mapping[NamePath, Kept]) -> None:
        """Read everything back, before the only other copy of it goes."""
        found = self.own.values({path: each.sentinel for path, each in kept.items()}) if kept else {}
        for path, each in kept.items():
            if found.get(path) != secrets[path]:
                raise SecretsUnavailable(
                    f"{each.place} does not give back what was put there for {dotted(path)}; nothing was saved"
                )

    def undo(self, kept: Mapping[NamePath, Kept], before: Mapping[NamePath, tuple[str, str]]) -> None:
        """As far as the stores let us; what stays in them then is pointed at by nothing."""
        for path in kept:
            try:
                if path not in before:
                    self.own.forget(path)
                    continue
                sentinel, text = before[path]
                (self._only_file if sentinel == PRIVATE_FILE else self.own).keep(path, text)
            except SecretStoreError:
                continue


@contextmanager
def _only_setup(home: Path) -> Generator[None]:
    """The lock ends with the process, its file stays."""
    handle = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        for _ in range(int(LOCK_SECONDS / _LOOK_EVERY_SECONDS)):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_LOOK_EVERY_SECONDS)
        else:
            raise FileBusy(f"another setup of {home} is saving; nothing was saved")
        yield
    finally:
        os.close(handle)

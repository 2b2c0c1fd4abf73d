"""The secrets of one home: the system's keychain first, a private file where there is none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from fermix.application.ports.secrets import (
    Secret,
    SecretName,
    SecretsLocked,
    SecretsRefused,
    SecretStoreError,
)
from fermix.infrastructure.secrets.file_store import MAX_FILE_BYTES
from fermix.infrastructure.secrets.keychain import Keychain
from fermix.infrastructure.secrets.private_file import PrivateFile
from fermix.infrastructure.settings.home import resolve_user_home
from fermix.infrastructure.settings.problems import KeyPath, dotted
from fermix.infrastructure.settings.stored import (
    DEFAULT_PROFILE,
    KEYCHAIN,
    PLACES,
    PRIVATE_FILE,
    Found,
    Unread,
)
from fermix.infrastructure.settings.stored_names import ACCOUNT, keychain_service, secret_name

__all__ = ["Kept", "StoredSecrets", "StoresOf", "Unread", "secrets_folder"]

PATIENCE = timedelta(seconds=5)
_SET_AGAIN = "set it again with `fermix setup`"
_KEEP_IN_FILE = f"where that stays so, {_SET_AGAIN}, which then keeps it in a private file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Where a secret lies now.

    Attributes:
        sentinel: what is to stand in the configuration in its place.
        place: the same for a person.
        instead: why it is not in the keychain; `None` when it is, or was not meant to be.
    """

    sentinel: str
    place: str
    instead: str | None = None


def secrets_folder(home: Path) -> Path:
    """Where the private file of a home lies."""
    return home / "secrets"


class StoredSecrets:
    """Keeps, reads and forgets secrets by their keys. Every call blocks, each within a limit.

    The keychain is asked in a process of its own that a limit ends; nothing is asked before the first call.
    """

    def __init__(
        self,
        home: Path,
        environ: Mapping[str, str],
        *,
        profile: str = DEFAULT_PROFILE,
        keychain: bool | None = None,
    ) -> None:
        """Look at nothing yet.

        Args:
            home: the absolute home.
            environ: the environment: how to reach the keychain, and the person's home.
            profile: `fermix_core.profile`.
            keychain: `False`: new secrets go to the file; `True`: to the keychain or nowhere; `None`: to the
                keychain, else to the file.
        """
        self._home = home
        self._default_home = resolve_user_home(environ) / ".fermix"
        self._profile = profile
        self._keychain = keychain
        self._system = Keychain(environ, account=ACCOUNT)
        self._file = PrivateFile(secrets_folder(home), max_bytes=MAX_FILE_BYTES)

    def keep(self, key: KeyPath, text: str) -> Kept:
        """Keep a secret in place of an older one; it is in one of the two stores afterwards, if both answer.

        Raises:
            SecretStoreError: it is kept nowhere; the text says why.
        """
        name = _named(key)
        secret = _checked(key, text)
        instead: str | None = None
        if self._keychain is not False:
            try:
                self._system.write(self._service(key), secret)
            except SecretStoreError as exc:
                if self._keychain:
                    raise
                instead = str(exc)
            else:
                self._forget_in_file(name)
                return Kept(sentinel=KEYCHAIN, place=PLACES[KEYCHAIN])
        self._file.change(lambda secrets: secrets.update({name: secret}) is None, patience=PATIENCE)
        return Kept(sentinel=PRIVATE_FILE, place=str(self._file.path), instead=instead)

    def read(self, keys: Iterable[KeyPath]) -> Mapping[KeyPath, Found]:
        """Look in the keychain, and in the file for what is not there. One process at most asks for all keys."""
        return self.values(dict.fromkeys(keys, KEYCHAIN))

    def values(self, wanted: Mapping[KeyPath, str]) -> Mapping[KeyPath, Found]:
        """Look where each key's sentinel says; what the keychain does not give is looked for in the file too.

        Args:
            wanted: the keys, each with what stands in its place.
        """
        asked = [key for key, sentinel in wanted.items() if sentinel == KEYCHAIN]
        found = self._from_keychain(asked)
        left = [key for key in wanted if not isinstance(found.get(key), str)]
        return {**found, **self._from_file(left, found)}

    def forget(self, key: KeyPath) -> None:
        """Remove a secret from wherever it is; one that is nowhere is no error.

        Raises:
            SecretStoreError: it may still be there; the text says why.
        """
        was_in_file = self._forget_in_file(_named(key))
        if self._keychain is False:
            return
        try:
            self._system.delete(self._service(key))
        except SecretStoreError:
            if not was_in_file:
                raise

    def _forget_in_file(self, name: SecretName) -> bool:
        """Whether it was there; a folder that is not needed is not made."""
        if name not in self._file.read():
            return False
        return self._file.change(lambda secrets: secrets.pop(name, None) is not None, patience=PATIENCE)

    def _from_keychain(self, keys: list[KeyPath]) -> dict[KeyPath, Found]:
        if not keys:
            return {}
        try:
            texts = self._system.read([self._service(key) for key in keys])
        except SecretsLocked as exc:
            return dict.fromkeys(keys, Unread(f"{exc}, then start again"))
        except SecretStoreError as exc:
            return dict.fromkeys(keys, Unread(f"{exc}; {_KEEP_IN_FILE}"))
        return {
            key: Unread(f"there is no such entry; {_SET_AGAIN}") if text is None else text
            for key, text in zip(keys, texts, strict=True)
        }

    def _from_file(self, keys: list[KeyPath], before: Mapping[KeyPath, Found]) -> dict[KeyPath, Found]:
        """What the file gives; where it gives nothing, what was said before stays."""
        if not keys:
            return {}
        try:
            secrets = self._file.read()
        except SecretStoreError as exc:
            return {key: before.get(key, Unread(str(exc))) for key in keys}
        absent = Unread(f"it is not in {self._file.path}; {_SET_AGAIN}")
        texts = {key: secrets.get(name) for key in keys if (name := secret_name(key)) is not None}
        return {
            key: before.get(key, absent) if (secret := texts.get(key)) is None else secret.reveal()
            for key in keys
        }

    def _service(self, key: KeyPath) -> str:
        return keychain_service(key, home=self._home, default_home=self._default_home, profile=self._profile)


@dataclass(frozen=True, slots=True)
class StoresOf:
    """Reads the stores of a home for whoever loads its settings."""

    home: Path
    environ: Mapping[str, str]

    def values(self, wanted: Mapping[KeyPath, str], *, profile: str) -> Mapping[KeyPath, Found]:
        """See `StoredValues.values`."""
        return StoredSecrets(self.home, self.environ, profile=profile).values(wanted)


def _named(key: KeyPath) -> SecretName:
    name = secret_name(key)
    if name is None:
        raise SecretsRefused(f"{dotted(key)} holds a name that no secret store takes")
    return name


def _checked(key: KeyPath, text: str) -> Secret:
    problem: str
    try:
        return Secret(text)
    except ValueError as exc:
        problem = str(exc)
    raise SecretsRefused(f"{dotted(key)}: {problem}")

"""The system's keychain, asked in a process of its own: it is large, can hang, and may want to open a prompt.

A locked keychain may never answer, and what answers late may answer with a secret. So each request has a
short-lived child, which a limit ends. Secrets go through its pipes alone, never into arguments or an environment,
and what the child says of an error is one of a few words.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from fermix.application.ports.secrets import (
    Secret,
    SecretsLocked,
    SecretsRefused,
    SecretStoreError,
    SecretsUnavailable,
)
from fermix.infrastructure.system.child_python import Launch, child_environment

READ_LIMIT = timedelta(seconds=10)
"""A start waits so long at most for a keychain that does not answer."""

WRITE_LIMIT = timedelta(seconds=30)
"""Some systems ask their owner whether a new program may write; a person needs a moment."""

PROGRAM = "fermix.infrastructure.secrets.keychain_program"

_NEEDED = (
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "HOME",
    "KDE_FULL_SESSION",
    "KDE_SESSION_VERSION",
    "LOGNAME",
    "PYTHON_KEYRING_BACKEND",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
)
"""What leads to the keychain of this session, and what its owner said about keychains."""

_BUS = "DBUS_SESSION_BUS_ADDRESS"
_SAYINGS: Mapping[str, tuple[type[SecretStoreError], str]] = {
    "locked": (
        SecretsLocked,
        "the keychain is locked; unlock it (log in to the desktop, or open its password manager)",
    ),
    "absent": (
        SecretsUnavailable,
        "no keychain of the system can be reached from here (on Linux: is there a D-Bus session?)",
    ),
    "switched_off": (
        SecretsUnavailable,
        "PYTHON_KEYRING_BACKEND or keyringrc.cfg names something that is no keychain of the system",
    ),
    "unmade": (
        SecretsUnavailable,
        "the keychain has no default collection yet; make one in its password manager",
    ),
    "refused": (SecretsRefused, "the keychain did not do it; see whether its password manager can"),
    "failed": (SecretsUnavailable, "the keychain failed; see whether its password manager works"),
}
"""What the child may say, and what that means."""


class Keychain:
    """Entries of one account in the keychain. Every call blocks, within a limit, and starts one process."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        account: str,
        launch: Launch | None = None,
        read_limit: timedelta = READ_LIMIT,
        write_limit: timedelta = WRITE_LIMIT,
    ) -> None:
        """Start nothing yet.

        Args:
            environ: the environment; the child gets what leads to the keychain of this session, and nothing else.
            account: the user name of the entries.
            launch: how to start Python; by default as this process was.
            read_limit: how long reading may take.
            write_limit: how long a change may take.
        """
        self._account = account
        self._launch = launch or Launch(environment=keychain_environment(environ))
        self._read_limit = read_limit
        self._write_limit = write_limit

    def read(self, services: Sequence[str]) -> list[str | None]:
        """The texts of some entries, in their order; `None` for one that is not there.

        Raises:
            SecretsLocked, SecretsUnavailable: see there.
        """
        values = self._ask({"do": "get", "services": list(services)}, self._read_limit)
        if not (isinstance(values, list) and len(values) == len(services) and all(map(_is_entry, values))):
            raise _error("failed")
        return values

    def write(self, service: str, secret: Secret) -> None:
        """Make an entry, in place of one that is there.

        Raises:
            SecretsLocked, SecretsUnavailable, SecretsRefused: see there.
        """
        self._ask({"do": "set", "services": [service], "text": secret.reveal()}, self._write_limit)

    def delete(self, service: str) -> bool:
        """Remove an entry; whether there was one.

        Raises:
            SecretsLocked, SecretsUnavailable, SecretsRefused: see there.
        """
        return self._ask({"do": "delete", "services": [service]}, self._write_limit) is True

    def _ask(self, request: Mapping[str, object], limit: timedelta) -> Any:
        asked = {**request, "account": self._account, "seconds": limit.total_seconds()}
        try:
            answer = self._launch.exchange(PROGRAM, json.dumps(asked).encode(), limit=limit)
        except OSError as exc:
            text = f"the keychain cannot be asked: {exc.strerror or 'no process could be started'}"
            raise SecretsUnavailable(text) from exc
        if answer is None:
            raise SecretsUnavailable(
                f"the keychain did not answer within {limit.total_seconds():g} seconds; it may be waiting to be "
                "unlocked: open its password manager"
            )
        return _read(answer)


def keychain_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that leads to the keychain; a service may have to be shown the usual bus."""
    kept = {**child_environment(environ), **{name: environ[name] for name in _NEEDED if name in environ}}
    bus = Path(kept.get("XDG_RUNTIME_DIR", "/nonexistent")) / "bus"
    if _BUS not in kept and bus.is_socket():
        kept[_BUS] = f"unix:path={bus}"
    return kept


def _read(answer: bytes) -> Any:
    """What the child found; an error of parsing would hold the text, so none may leave here."""
    try:
        document = json.loads(answer)
        trouble = document["trouble"]
        found = document["found"]
    except (ValueError, KeyError, TypeError, RecursionError):
        trouble, found = "failed", None
    if trouble is not None:
        raise _error(trouble)
    return found


def _error(word: object) -> SecretStoreError:
    kind, sentence = _SAYINGS.get(word if isinstance(word, str) else "", _SAYINGS["failed"])
    return kind(sentence)


def _is_entry(value: object) -> bool:
    return value is None or isinstance(value, str)

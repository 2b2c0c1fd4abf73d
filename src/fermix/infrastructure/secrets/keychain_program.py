"""The process that asks the system's keychain: one request as JSON on standard input, one answer on its output.

Which keychain that is, is decided here and not by the library: it would also choose stores that ask for a
passphrase on a terminal, keep plain text, or keep nothing. Nothing is ever unlocked from here, since that could
open a window in front of nobody. An answer has `found`, or one word of trouble; the text of a foreign error may
hold a secret, so none leaves this process.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend
from keyring.errors import (
    InitError,
    KeyringLocked,
    PasswordDeleteError,
    PasswordSetError,
)
from keyring.util.platform_ import config_root

_SECRET_SERVICE = "keyring.backends.SecretService.Keyring"  # noqa: S105  # a name
_OF_MACOS = ("keyring.backends.macOS.Keyring",)
_OF_LINUX = (_SECRET_SERVICE, "keyring.backends.kwallet.DBusKeyring")


class _Trouble(Exception):
    """Carries the word for what is wrong."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


def main() -> int:
    """Serve one request."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What a library prints must not get into the answer.
    with os.fdopen(os.dup(1), "wb") as answer, Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        answer.write(_served(sys.stdin.buffer.read()))
    return 0


def _served(raw: bytes) -> bytes:
    found: Any = None
    trouble: str | None = None
    try:
        request = json.loads(raw)
        # The parent kills this process at its limit; should it die first, nobody else would.
        signal.alarm(int(request["seconds"]) + 5)
        found = _do(request, _keychain(os.environ))
    except _Trouble as exc:
        trouble = exc.word
    except KeyringLocked:
        trouble = "locked"
    except PasswordSetError:
        trouble = "refused"
    except InitError:
        trouble = "unmade"
    except Exception:  # noqa: BLE001  # the process ends here, and what a backend raises has no common class
        trouble = "failed"
    return json.dumps({"found": found, "trouble": trouble}).encode()


def _do(request: Mapping[str, Any], keychain: KeyringBackend) -> Any:
    account: str = request["account"]
    services: list[str] = request["services"]
    match request["do"]:
        case "get":
            return [keychain.get_password(service, account) for service in services]
        case "set":
            keychain.set_password(services[0], account, request["text"])
            return True
        case "delete":
            return _delete(keychain, services[0], account)
    raise _Trouble("failed")


def _delete(keychain: KeyringBackend, service: str, account: str) -> bool:
    if keychain.get_password(service, account) is None:
        return False
    try:
        keychain.delete_password(service, account)
    except PasswordDeleteError:
        raise _Trouble("refused") from None
    return True


def _keychain(environ: Mapping[str, str]) -> KeyringBackend:
    """The first keychain of this system that can be reached, or the one its owner named."""
    allowed = _OF_MACOS if sys.platform == "darwin" else _OF_LINUX
    named = environ.get("PYTHON_KEYRING_BACKEND", "").strip() or _configured()
    if named and named not in allowed:
        raise _Trouble("switched_off")
    for name in (named,) if named else allowed:
        for backend in _loaded(name):
            _check_unlocked(name)
            return backend()
    raise _Trouble("absent")


def _configured() -> str:
    """The keychain that `keyringrc.cfg` names: `keyring --disable` writes one there that keeps nothing."""
    parser = ConfigParser()
    try:
        parser.read(Path(config_root()) / "keyringrc.cfg", encoding="utf-8")
        return parser.get("backend", "default-keyring", fallback="").strip()
    except (ConfigParserError, UnicodeDecodeError):
        return ""


def _loaded(name: str) -> Iterator[Callable[[], KeyringBackend]]:
    """The class of that name, if its own look at the system says that it works here."""
    module, _, kind = name.rpartition(".")
    try:
        backend = getattr(import_module(module), kind)
        if backend.viable:
            yield backend
    except ImportError:
        return


def _check_unlocked(name: str) -> None:
    """Look whether it can be used at once: the library would ask for a new or a locked one to be opened."""
    if name != _SECRET_SERVICE:
        return
    import secretstorage  # noqa: PLC0415  # only there on Linux

    with closing(secretstorage.dbus_init()) as bus:
        try:
            is_locked = secretstorage.Collection(bus).is_locked()
        except secretstorage.ItemNotFoundException:
            raise _Trouble("unmade") from None
        if is_locked:
            raise _Trouble("locked")


if __name__ == "__main__":
    sys.exit(main())

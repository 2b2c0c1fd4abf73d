"""The bearer token of a home: what HTTP callers from elsewhere must show."""

import os
import secrets
import stat
from pathlib import Path

_BYTES = 32
_SHORTEST = 32
_LONGEST = 512


class TokenUnusable(Exception):
    """The token's file cannot be used until its owner changes something; the text is a sentence for them."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(f"The HTTP token in {path} cannot be used: {reason}. Remove it to get a new one.")


def open_token(path: Path) -> str:
    """The token in the file, made there (mode 0600) when there is none; printable ASCII without blanks. Blocking.

    Raises:
        TokenUnusable: the file is a link or no file, belongs to somebody else, or holds no long enough token.
    """
    try:
        try:
            return _read(path)
        except FileNotFoundError:
            _write(path, secrets.token_urlsafe(_BYTES))
        return _read(path)
    except OSError as exc:
        raise TokenUnusable(path, exc.strerror or str(exc)) from exc


def _read(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise TokenUnusable(path, "it is not a file")
        if found.st_uid != os.geteuid():
            raise TokenUnusable(path, "it belongs to another user")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(handle, 0o600)
        raw = file.read(_LONGEST + 1).strip()
    token = raw.decode("ascii", errors="replace")
    if not (
        _SHORTEST <= len(token) <= _LONGEST and token.isascii() and token.isprintable() and " " not in token
    ):
        raise TokenUnusable(path, f"it holds no token of {_SHORTEST} to {_LONGEST} printable characters")
    return token


def _write(path: Path, token: str) -> None:
    """Written aside and moved, so that a death in between leaves no half token."""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
        file.flush()
        os.fsync(handle)
    aside.replace(path)

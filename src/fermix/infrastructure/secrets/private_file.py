"""One private file of names and texts: 0600 in a folder of 0700, replaced whole, one writer at a time."""

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from fermix.application.ports.secrets import Secret, SecretName, SecretsRefused, SecretsUnavailable

Secrets: TypeAlias = dict[SecretName, Secret]

SECRETS_FILE = "secrets.json"
_ASIDE = "secrets.json.new"
_LOCK = "lock"
_VERSION = 1
_OTHERS = 0o077
_LOOK_EVERY_SECONDS = 0.02
_NEVER_LINKS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class PrivateFile:
    """The file in its folder. Everything blocks; everything raises `SecretsUnavailable` for what the system says.

    The folder is opened once for each call and its files are reached through it, so that nobody can put
    another one in its place in between. Links are never followed.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def read(self) -> Secrets:
        """All secrets; none when nobody has made the file yet."""
        with self._told():
            try:
                folder = _open_folder(self._folder)
            except FileNotFoundError:
                return {}
            with _closing(folder):
                return self._read(folder)

    def try_change(self, change: Callable[[Secrets], bool]) -> bool | None:
        """Change the secrets and replace the file, durably.

        Args:
            change: changes the mapping in place and says whether it did.

        Returns:
            What `change` said; `None` when another process is changing the file: nothing was done.

        Raises:
            SecretsRefused: the file would grow too large.
        """
        with self._told():
            _make_folder(self._folder)
            with _closing(_open_folder(self._folder)) as folder:
                mode = os.O_RDWR | os.O_CREAT | _NEVER_LINKS
                with _closing(os.open(_LOCK, mode, 0o600, dir_fd=folder)) as lock:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        return None
                    return self._change_locked(folder, change)

    def change(self, change: Callable[[Secrets], bool], *, patience: timedelta) -> bool:
        """Change the secrets as `try_change` does, after waiting for another process that changes them.

        Raises:
            SecretsUnavailable: the other process did not end in time.
        """
        until = time.monotonic() + patience.total_seconds()
        while True:
            changed = self.try_change(change)
            if changed is not None:
                return changed
            if time.monotonic() >= until:
                raise in_use(self._folder)
            time.sleep(_LOOK_EVERY_SECONDS)

    def _change_locked(self, folder: int, change: Callable[[Secrets], bool]) -> bool:
        secrets = self._read(folder)
        changed = change(secrets)
        if changed:
            self._replace(folder, secrets)
        return changed

    def _read(self, folder: int) -> Secrets:
        try:
            handle = os.open(SECRETS_FILE, os.O_RDONLY | _NEVER_LINKS, dir_fd=folder)
        except FileNotFoundError:
            return {}
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise SecretsUnavailable(f"{self.path} is not a file")
            _make_private(handle, found, self.path, mode=0o600)
            raw = file.read(self._max_bytes + 1)
        secrets = _parsed(raw) if len(raw) <= self._max_bytes else None
        if secrets is None:
            raise SecretsUnavailable(
                f"{self.path} is damaged; put it right, or move it away and set the keys anew"
            )
        return secrets

    def _replace(self, folder: int, secrets: Secrets) -> None:
        """Written aside and moved, so that a death at any moment leaves the old file or the new one."""
        raw = _written(secrets)
        if len(raw) > self._max_bytes:
            raise SecretsRefused(f"{self.path} would be larger than {self._max_bytes} bytes")
        with suppress(FileNotFoundError):
            os.unlink(_ASIDE, dir_fd=folder)
        handle = os.open(_ASIDE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEVER_LINKS, 0o600, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(handle)
        os.rename(_ASIDE, SECRETS_FILE, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)

    @property
    def path(self) -> Path:
        """Of the file, whether it is there or not."""
        return self._folder / SECRETS_FILE

    @contextmanager
    def _told(self) -> Generator[None]:
        """What the system refuses, in a sentence. Its errors hold paths and no content."""
        try:
            yield
        except OSError as exc:
            linked = exc.errno in {errno.ELOOP, errno.ENOTDIR}
            reason = "a link or something else stands in its way" if linked else exc.strerror or str(exc)
            raise SecretsUnavailable(f"{self._folder} cannot be used: {reason}") from exc


def in_use(folder: Path) -> SecretsUnavailable:
    """What to say when another process keeps the file."""
    return SecretsUnavailable(f"{folder} is being changed by another process that does not end")


@contextmanager
def _closing(handle: int) -> Generator[int]:
    try:
        yield handle
    finally:
        os.close(handle)


def _make_folder(path: Path) -> None:
    """Made when it is missing, and its entry synced, so that a power cut does not take what is put into it."""
    try:
        path.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return
    with _closing(os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as parent:
        os.fsync(parent)


def _open_folder(path: Path) -> int:
    """The folder's handle, made private."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _make_private(handle, os.fstat(handle), path, mode=0o700)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _make_private(handle: int, found: os.stat_result, path: Path, *, mode: int) -> None:
    if found.st_uid != os.geteuid():
        raise SecretsUnavailable(f"{path} belongs to another user")
    if stat.S_IMODE(found.st_mode) & _OTHERS:
        os.fchmod(handle, mode)


def _written(secrets: Mapping[SecretName, Secret]) -> bytes:
    texts = {name.text: secrets[name].reveal() for name in sorted(secrets)}
    return json.dumps({"version": _VERSION, "secrets": texts}, indent=1).encode() + b"\n"


def _parsed(raw: bytes) -> Secrets | None:
    """The secrets, `None` for what this program did not write.

    An error of parsing holds the text that was parsed, so none may leave here.
    """
    try:
        value: Any = json.loads(raw)
        if value["version"] != _VERSION:
            return None
        return {SecretName(name): Secret(text) for name, text in value["secrets"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None

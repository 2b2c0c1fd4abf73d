"""Where the control socket lies: in the home, or in a private folder where that path is too long."""

import hashlib
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from fermix.infrastructure.local_socket.protocol import SOCKET_NAME

MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""What `sun_path` holds before its closing NUL: 104 bytes on macOS, 108 on Linux."""

_HOME_DIGEST_CHARACTERS = 16


class UnsafeFolder(Exception):
    """The private folder cannot be trusted or made; the message names it and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketPlace:
    """A socket's path and, when it lies outside the home, the private folder it lies in."""

    path: Path
    private_folder: Path | None = None


def socket_place(home: Path, runtime_dir: Path | None, uid: int) -> SocketPlace:
    """Where the socket of a home lies. Pure: the same home always has the same place.

    Args:
        home: the absolute home.
        runtime_dir: the user's own runtime folder (`XDG_RUNTIME_DIR`), if there is one.
        uid: the owner, for a folder under `/tmp` where there is no runtime folder or it is too long as well.
    """
    in_home = home / SOCKET_NAME
    if _fits(in_home):
        return SocketPlace(path=in_home)
    name = f"{hashlib.sha256(os.fsencode(home)).hexdigest()[:_HOME_DIGEST_CHARACTERS]}.sock"
    shared = Path(f"/tmp/fermix-{uid}")  # noqa: S108 - made private and checked by `make_private`
    folders = [shared] if runtime_dir is None else [runtime_dir / "fermix", shared]
    folder = next(folder for folder in folders if _fits(folder / name))
    return SocketPlace(path=folder / name, private_folder=folder)


def make_private(folder: Path, uid: int) -> None:
    """Make the folder, mode 0700, or see that the one that is there is ours, no link and closed to all others.

    Raises:
        UnsafeFolder: it cannot be made, is a link, belongs to somebody else, or is open to others.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise UnsafeFolder(f"The socket's folder {folder} cannot be made: {error.strerror}.") from error
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafeFolder(f"{folder} is not a folder, so the socket cannot be put there.")
    if status.st_uid != uid:
        raise UnsafeFolder(f"The folder {folder} belongs to another user, so the socket cannot be put there.")
    if status.st_mode & 0o077:
        raise UnsafeFolder(f"The folder {folder} is open to other users; its mode must be 0700.")


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= MAX_PATH_BYTES

"""Rows about the places things lie in: the home's folder, its disk, the control socket."""

import os
import stat
from pathlib import Path

from fermix.application.operations.doctor.daemon import HiddenOwner, NoOwner, SocketFacts, judge_socket
from fermix.application.operations.doctor.disk import DiskFacts, judge_disk
from fermix.application.operations.doctor.home import HomeFacts, judge_home
from fermix.application.operations.doctor.report import Finding
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.infrastructure.local_socket.daemon_file import read_daemon_file
from fermix.infrastructure.local_socket.place import socket_place
from fermix.infrastructure.system.home import is_text

_ALL = os.R_OK | os.W_OK | os.X_OK


def home(situation: Situation) -> Finding:
    """The folder that holds everything."""
    path = situation.home.path
    there = path if _is_there(path) else _nearest(path.parent)
    found = there.stat()
    return judge_home(
        HomeFacts(
            path=str(path),
            exists=there == path,
            is_folder=stat.S_ISDIR(found.st_mode),
            is_ours=found.st_uid == os.geteuid(),
            usable=os.access(there, _ALL if there == path else os.W_OK | os.X_OK),
            mode=stat.S_IMODE(found.st_mode),
            exposed_at=_exposed_at(path, there),
            read_only=bool(os.statvfs(there).f_flag & os.ST_RDONLY),
            is_text=is_text(path),
        )
    )


def disk(situation: Situation) -> Finding:
    """Room on the home's disk."""
    there = _nearest(situation.home.path)
    room = os.statvfs(there)
    return judge_disk(
        DiskFacts(
            place=str(there),
            free=room.f_bavail * room.f_frsize,
            names_left=room.f_files == 0 or room.f_favail > 0,
        )
    )


def control_socket(situation: Situation) -> Finding:
    """Where the owner listens: where it says, else where it would."""
    served = not isinstance(situation.owner, NoOwner | HiddenOwner)
    named = read_daemon_file(situation.home.path) if served else None
    path = _usual_place(situation) if named is None else Path(named.socket)
    try:
        found = path.lstat()
        folder = path.parent.stat()
    except (FileNotFoundError, NotADirectoryError):
        return judge_socket(SocketFacts(path=str(path), exists=False, served=served))
    return judge_socket(
        SocketFacts(
            path=str(path),
            exists=True,
            is_socket=stat.S_ISSOCK(found.st_mode),
            is_ours=found.st_uid == os.geteuid(),
            mode=stat.S_IMODE(found.st_mode),
            folder_private=not folder.st_mode & 0o077,
            served=served,
        )
    )


def _usual_place(situation: Situation) -> Path:
    runtime = situation.environ.get("XDG_RUNTIME_DIR", "").strip()
    return socket_place(situation.home.path, Path(runtime) if runtime else None, os.getuid()).path


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _nearest(path: Path) -> Path:
    """The path itself, or the first folder above it that is there and can be seen."""
    for each in (path, *path.parents):
        try:
            each.stat()
        except OSError:
            continue
        return each
    return Path(path.anchor)


def _exposed_at(path: Path, there: Path) -> str | None:
    """As at a start: whoever may write to a folder may rename what is in it, unless it is sticky."""
    real = there.resolve()
    folders = real.parents if there == path else (real, *real.parents)
    for folder in folders:
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return str(folder)
    return None

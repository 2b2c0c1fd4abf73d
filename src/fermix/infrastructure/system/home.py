"""The home folder: made, checked and closed to others before anything in it is opened."""

import errno
import os
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_PRIVATE = 0o700
_OTHERS = 0o077
_PROBE = b"fermix looks whether it can write here\n"


class HomeProblem(StrEnum):
    """Why a home cannot be used, sorted by what its owner can do about it."""

    NOT_A_FOLDER = "not_a_folder"
    NOT_OURS = "not_ours"
    NO_PERMISSION = "no_permission"
    EXPOSED = "exposed"
    READ_ONLY = "read_only"
    NO_SPACE = "no_space"
    NOT_TEXT = "not_text"
    BROKEN = "broken"


_SENTENCES = {
    HomeProblem.NOT_A_FOLDER: "it is not a folder. Move what is there away, or set FERMIX_HOME to another path",
    HomeProblem.NOT_OURS: "it belongs to another user. Run as that user, or set FERMIX_HOME to a folder of yours",
    HomeProblem.NO_PERMISSION: "this user may not read and write there. Correct the permissions of the path, or "
    "set FERMIX_HOME to another folder",
    HomeProblem.EXPOSED: "it lies in a folder where every user may replace it. Take that permission away "
    "(chmod o-w), or set FERMIX_HOME to another folder",
    HomeProblem.READ_ONLY: "its file system is read-only. Mount it writable, or set FERMIX_HOME to another folder",
    HomeProblem.NO_SPACE: "there is no space left for it. Free some, then try again",
    HomeProblem.NOT_TEXT: "its path is not UTF-8 text. Set FERMIX_HOME to another folder",
    HomeProblem.BROKEN: "the system cannot use it",
}

_PROBLEMS = {
    errno.ENOTDIR: HomeProblem.NOT_A_FOLDER,
    errno.EEXIST: HomeProblem.NOT_A_FOLDER,
    errno.EACCES: HomeProblem.NO_PERMISSION,
    errno.EPERM: HomeProblem.NO_PERMISSION,
    errno.EROFS: HomeProblem.READ_ONLY,
    errno.ENOSPC: HomeProblem.NO_SPACE,
    errno.EDQUOT: HomeProblem.NO_SPACE,
}


class HomeUnusable(Exception):
    """The home cannot be used until its owner changes something; the text is a sentence for them.

    Args:
        path: the home.
        reason: what kind of trouble it is.
        detail: which one; of `BROKEN` it says everything.
    """

    def __init__(self, path: Path, reason: HomeProblem, detail: str = "") -> None:
        self.path = path
        self.reason = reason
        detail = detail.rstrip(".")
        if detail and reason is HomeProblem.BROKEN:
            said = detail
        else:
            said = f"{_SENTENCES[reason]} ({detail})" if detail else _SENTENCES[reason]
        super().__init__(f"The home {path} cannot be used: {said}.")


def home_unusable(path: Path, error: OSError) -> HomeUnusable:
    """What an operating system error on the home or a file in it means for its owner."""
    reason = _PROBLEMS.get(error.errno or 0, HomeProblem.BROKEN)
    inside = _inside(path, error)
    if reason is HomeProblem.NOT_A_FOLDER and inside is not None:
        reason = HomeProblem.BROKEN  # the home is a folder; something in it is not what it should be
    if reason is not HomeProblem.BROKEN:
        return HomeUnusable(path, reason)
    cause = error.strerror or str(error)
    return HomeUnusable(path, reason, cause if inside is None else f"{inside}: {cause}")


def _inside(home: Path, error: OSError) -> Path | None:
    """The path in the home that an error is about: of two, the one that something was to be moved to."""
    name = error.filename2 or error.filename
    path = Path(os.fsdecode(name)) if isinstance(name, str | bytes) else home
    return path if home in path.parents else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where everything of one owner lies. Only paths; nothing is opened by asking for one."""

    path: Path

    @property
    def config(self) -> Path:
        """The settings."""
        return self.path / "config.toml"

    @property
    def ledger(self) -> Path:
        """The database of messages and turns."""
        return self.path / "ledger.db"

    @property
    def log(self) -> Path:
        """The log of the daemon; its folder is made when it is opened."""
        return self.path / "logs" / "fermix.log"

    @property
    def traces(self) -> Path:
        """What the work reported about itself, in one folder per day; made with the first line."""
        return self.path / "traces"

    @property
    def blobs(self) -> Path:
        """Files that came with messages or go out with replies; made with the first one."""
        return self.path / "blobs"

    @property
    def models(self) -> Path:
        """Models that run on this machine."""
        return self.path / "models"

    @property
    def workspace(self) -> Path:
        """The agent's own folder, unless the settings name another."""
        return self.path / "workspace"

    @property
    def socket(self) -> Path:
        """The control socket, unless this path is too long for one."""
        return self.path / "daemon.sock"

    @property
    def daemon(self) -> Path:
        """What the daemon tells its clients: addresses and ports."""
        return self.path / "daemon.json"

    @property
    def lock(self) -> Path:
        """The file that the home's one owner holds locked."""
        return self.path / "home.lock"

    @property
    def http_token(self) -> Path:
        """The bearer token for HTTP from other machines."""
        return self.path / "http_token"


def open_home(path: Path) -> Home:
    """The home at `path`, made if it is not there and usable by nobody else (mode 0700).

    Blocking. Links on the way are followed, a mode that lets others in is tightened, and one small file is written
    and removed: permission bits alone do not tell about quotas, full disks and read-only mounts.

    Args:
        path: an absolute path.

    Raises:
        HomeUnusable: the owner has to change something first.
    """
    if not is_text(path):
        raise HomeUnusable(path, HomeProblem.NOT_TEXT)
    try:
        _make(path)
        _close_to_others(path)
        _refuse_exposed(path)
        _try_to_write(path)
    except OSError as exc:
        raise home_unusable(path, exc) from exc
    return Home(path=path)


def is_text(path: Path) -> bool:
    """Whether the path can stand in a JSON document, as it does in `daemon.json` and in status."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=_PRIVATE, parents=True)
    except FileExistsError:
        if not path.is_dir():
            raise


def _close_to_others(path: Path) -> None:
    found = path.stat()
    if found.st_uid != os.geteuid():
        raise HomeUnusable(path, HomeProblem.NOT_OURS)
    if stat.S_IMODE(found.st_mode) & _OTHERS:
        path.chmod(_PRIVATE)


def _refuse_exposed(path: Path) -> None:
    """Whoever may write to a folder may rename what is in it, unless the folder is sticky like `/tmp`."""
    for folder in path.resolve(strict=True).parents:
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise HomeUnusable(path, HomeProblem.EXPOSED, str(folder))


def _try_to_write(path: Path) -> None:
    os.scandir(path).close()
    probe = path / f".probe-{os.getpid()}"
    handle = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, _PROBE)
        os.fsync(handle)
    finally:
        os.close(handle)
        probe.unlink()

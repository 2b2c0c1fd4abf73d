"""Changing `config.toml`: whole or not at all, only into what loads, and never over somebody else's edit."""

import errno
import fcntl
import os
import shutil
import stat
import time
import tomllib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fermix.infrastructure.settings.config_file import ConfigFile, read_config_file
from fermix.infrastructure.settings.home import CONFIG_FILE
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.problems import ConfigError
from fermix.infrastructure.settings.swapping import exchange

LOCK_SECONDS = 10.0
"""How long one edit waits for another; each takes a fraction of a second."""

ATTEMPTS = 5
"""How often the file may change under an edit before that is given up."""

_LOOK_EVERY_SECONDS = 0.02
_OWNER_ONLY = 0o700

Edit = Callable[[str, ConfigFile], str]
"""From the text of the file, and what it says, to the text it should have; pure, it may run several times."""


class FileBusy(Exception):
    """Other edits did not end, or the file kept changing; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What an edit led to.

    Attributes:
        path: the file that was written, links followed.
        changed: whether its text is another one now.
        settings: what the file alone says now, without the environment.
    """

    path: Path
    changed: bool
    settings: LoadedSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The file as it was when it was read; `content` is `None` where there was none."""

    file: ConfigFile
    content: bytes | None
    mode: int


def edit_config(
    home: Path, edit: Edit, *, environ: Mapping[str, str], before_saving: Callable[[], None] = lambda: None
) -> Saved:
    """Apply an edit to the configuration of a home. Blocks.

    The result is written beside the file, synced, loaded like at a start, and only then takes the file's place, in
    one step and for its owner alone. Edits of this program wait for each other. When somebody else saved the file
    meanwhile, the edit is applied again, to what they saved. Comments, order and a link in the file's place stay.

    Args:
        home: absolute; the folder must exist.
        edit: makes the new text.
        environ: asked only for the person's home, so that a variable of this shell cannot hide a mistake.
        before_saving: called each time when everything is ready and the file is about to be replaced.

    Raises:
        ConfigError: the file is broken, or would be.
        FileBusy: see there.
        OSError: it cannot be written; nothing was changed.
    """
    path = home / CONFIG_FILE
    read_config_file(path)  # a broken file is refused before anything is written beside it
    target = Path(os.path.realpath(path))
    own = {"HOME": environ["HOME"]} if "HOME" in environ else {}
    with _only_editor(target), _stage(target) as stage:
        for _ in range(ATTEMPTS):
            found = _read(path, target)
            if found is None:
                time.sleep(_LOOK_EVERY_SECONDS)
                continue
            text = (found.content or b"").decode()
            edited = edit(text, found.file)
            if edited == text:
                return Saved(path=target, changed=False, settings=load_settings(home, own))
            draft = stage / CONFIG_FILE
            _write(draft, edited.encode(), found.mode, target)
            settings = _load(stage, own, path)
            before_saving()
            if _put_in_place(draft, target, found):
                _sync_folder(target.parent)
                return Saved(path=target, changed=True, settings=settings)
    raise FileBusy(f"{path} keeps being changed by another program; nothing was saved")


def _read(path: Path, target: Path) -> _Found | None:
    """The file, or `None` when it changed while it was read."""
    file = read_config_file(path)
    if not file.exists:
        return _Found(file=file, content=None, mode=0o600)
    try:
        mode = stat.S_IMODE(target.stat().st_mode) & _OWNER_ONLY or 0o600
        content = target.read_bytes()
        same = tomllib.loads(content.decode()) == file.table
    except (FileNotFoundError, ValueError):
        return None
    return _Found(file=file, content=content, mode=mode) if same else None


def _write(draft: Path, content: bytes, mode: int, target: Path) -> None:
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(descriptor, mode)
        if os.geteuid() == 0 and target.exists():
            owner = target.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        os.fsync(descriptor)


def _load(stage: Path, environ: Mapping[str, str], path: Path) -> LoadedSettings:
    """Load the draft like a start would, and speak of it as if it were the file already."""
    draft = str(stage / CONFIG_FILE)
    try:
        return load_settings(stage, environ)
    except ConfigError as exc:
        problems = [
            replace(each, source=str(path)) if each.source == draft else each for each in exc.problems
        ]
    raise ConfigError(problems)


def _put_in_place(draft: Path, target: Path, found: _Found) -> bool:
    """Replace the file unless it is another one by now; afterwards `draft` is of no use."""
    if found.content is None:
        return _put_first(draft, target)
    if _content(target) != found.content:
        return False
    ours = _content(draft)
    if not exchange(draft, target):
        draft.replace(target)
        return True
    # What was replaced is looked at once more: an editor may have saved since. If so it goes back, unless that
    # takes away what was saved once more in between.
    if _content(draft) == found.content:
        return True
    exchange(draft, target)
    if _content(draft) != ours:
        exchange(draft, target)
    return False


def _put_first(draft: Path, target: Path) -> bool:
    try:
        os.link(draft, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        draft.replace(target)
    return True


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


@contextmanager
def _only_editor(target: Path) -> Generator[None]:
    """Keep other edits of this program out; the lock ends with the process, its file stays."""
    lock = target.with_name(f".{target.name}.lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        for _ in range(int(LOCK_SECONDS / _LOOK_EVERY_SECONDS)):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_LOOK_EVERY_SECONDS)
        else:
            raise FileBusy(f"{target} is being changed by another process; nothing was saved")
        yield
    finally:
        os.close(handle)


@contextmanager
def _stage(target: Path) -> Generator[Path]:
    """A private folder beside the file; what a killed edit left there goes first."""
    folder = target.with_name(f".{target.name}.draft")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; some file systems cannot sync a folder and need not."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as exc:
        if exc.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(handle)

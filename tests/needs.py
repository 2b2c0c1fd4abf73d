"""What some tests need from outside pip, where it is looked for, and what happens when it is missing."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

NOBODY = 65534
"""An account id without rights and, on the machines we test on, without files."""

MODEL_FOLDER = Path(".cache") / "fermix-test"
"""Below the real home: model files kept from one run to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the session knows of the machine from before its environment was replaced.

    Attributes:
        home: the real home folder.
        model: the model file named by `FERMIX_TEST_MODEL`, if any.
        no_skip: whether something missing is a failure instead of a skip.
        seed: what tests that draw at random begin from: drawn anew in each run, or given by `FERMIX_TEST_SEED` to
            run an earlier draw again.
    """

    home: Path
    model: Path | None = None
    no_skip: bool = False
    seed: int = 0

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Outside":
        """Read the environment as the tests were started with it."""
        model = environ.get("FERMIX_TEST_MODEL", "").strip()
        seed = environ.get("FERMIX_TEST_SEED", "").strip()
        return cls(
            home=Path(environ.get("HOME") or Path.home()),
            model=Path(model).expanduser().absolute() if model else None,
            no_skip=environ.get("FERMIX_TEST_NO_SKIP", "").strip() not in {"", "0"},
            seed=int(seed) if seed else random.SystemRandom().randrange(10**9),
        )

    def as_environ(self) -> dict[str, str]:
        """What `read` reads back; how a worker process gets to know what its controller knew."""
        return {
            "HOME": str(self.home),
            "FERMIX_TEST_MODEL": str(self.model or ""),
            "FERMIX_TEST_NO_SKIP": "1" if self.no_skip else "",
            "FERMIX_TEST_SEED": str(self.seed),
        }

    def model_file(self) -> Path | None:
        """The model file to test with, or nothing."""
        if self.model is not None:
            return self.model if self.model.is_file() else None
        return next(iter(sorted((self.home / MODEL_FOLDER).glob("*.gguf"))), None)


OUTSIDE = pytest.StashKey[Outside]()
"""Where the session's configuration keeps its `Outside`."""


def missing(thing: str, outside: Outside) -> str | None:
    """Why `thing` cannot be had here, or nothing when it is there.

    Args:
        thing: `local-model`, `program:NAME` (found on the search path) or `package:NAME` (the import name).
        outside: where to look.

    Raises:
        ValueError: `thing` is none of these.
    """
    kind, _, name = thing.partition(":")
    match kind, name:
        case "local-model", "":
            if outside.model_file() is not None:
                return None
            place = outside.model or outside.home / MODEL_FOLDER / "*.gguf"
            return f"needs a local model: no file {place} (FERMIX_TEST_MODEL names another)"
        case "program", str() if name:
            return None if shutil.which(name) else f"needs the program {name}, which is not on the PATH"
        case "package", str() if name:
            return None if find_spec(name) else f"needs the Python package {name}, which is not installed"
        case _:
            raise ValueError(f"no test can need {thing!r}")


def require(things: Sequence[str], outside: Outside) -> None:
    """Skip the running test when something is missing, or fail it where nothing may be skipped."""
    reasons = [reason for thing in things if (reason := missing(thing, outside)) is not None]
    if not reasons:
        return
    if outside.no_skip:
        pytest.fail("; ".join(reasons), pytrace=False)
    pytest.skip("; ".join(reasons))


_WITHOUT_OVERRIDE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for capability in (1, 2, 3):
    if libc.prctl(24, capability, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot give up a capability")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Takes root's overriding of modes, of search bits and of ownership out of what a later program can get."""

_AS_ANOTHER = """
import importlib, os, sys
for name in sys.argv[3].split():
    importlib.import_module(name)
account = int(sys.argv[1])
os.setgroups([])
os.setgid(account)
os.setuid(account)
exec(compile(sys.argv[2], "as_another", "exec"), {"__name__": "__main__"})
"""
"""Imports first: the interpreter may lie where only its owner can enter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprivileged:
    """Runs subprocesses without root's power to pass every permission check.

    Attributes:
        home: their home and working folder; the account `nobody` owns it where the tests run as root.
    """

    home: Path

    def run(
        self, arguments: Sequence[str | Path], *, env: Mapping[str, str] | None = None, timeout: float = 30
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the system as `nobody`, or as the user of the tests when that is not root."""
        account = NOBODY if os.geteuid() == 0 else None
        return self._run(arguments, env=env, timeout=timeout, account=account)

    def python(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, timeout: float = 30
    ) -> subprocess.CompletedProcess[str]:
        """Run this interpreter with our packages, as the user of the tests, held to the modes of files.

        As root it keeps the user id and gives up the overriding of permissions, so that a file of mode 000 is
        closed to it as it would be to any owner.
        """
        before = [sys.executable, "-c", _WITHOUT_OVERRIDE] if os.geteuid() == 0 else [sys.executable]
        return self._run([*before, *arguments], env=env, timeout=timeout)

    def python_as_another(
        self, code: str, *, preload: Sequence[str] = (), timeout: float = 30
    ) -> subprocess.CompletedProcess[str]:
        """Run Python code under another user id; skips where the tests do not run as root.

        Args:
            code: can count on the modules of `preload` and on nothing else that must be read from disk.
            preload: modules imported before the user id changes.
            timeout: seconds.
        """
        if os.geteuid() != 0:
            pytest.skip("only root can become another user")
        return self._run(
            [sys.executable, "-c", _AS_ANOTHER, str(NOBODY), code, " ".join(preload)],
            env=None,
            timeout=timeout,
        )

    def _run(
        self,
        arguments: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None,
        timeout: float,
        account: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        minimal = {"PATH": os.defpath, "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
        return subprocess.run(
            [str(argument) for argument in arguments],
            check=False,
            cwd=self.home,
            env=minimal | dict(env or {}),
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            user=account,
            group=account,
            extra_groups=None if account is None else [],
        )

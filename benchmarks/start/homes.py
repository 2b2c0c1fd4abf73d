"""A home that asks the quick provider, and a daemon in it."""

import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fermix.infrastructure.local_socket.client import ClientError, connect
from fermix.infrastructure.local_socket.protocol import Verb

START_SECONDS = 60
_LOOK_EVERY_SECONDS = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon that has answered at its socket.

    Attributes:
        ready_after: milliseconds from the start of its process to its first answer.
    """

    pid: int
    ready_after: float

    def resident(self) -> float:
        """Its memory now, MiB."""
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.pid)], check=True, capture_output=True, text=True
        )
        return int(told.stdout) / 1024

    def processor(self) -> float:
        """Seconds of processor time it has used."""
        told = subprocess.run(
            ["ps", "-o", "time=", "-p", str(self.pid)], check=True, capture_output=True, text=True
        )
        parts = [float(part) for part in told.stdout.strip().replace("-", ":").split(":")]
        return sum(part * 60.0**power for power, part in enumerate(reversed(parts)))


def make_home(folder: Path, *, base_url: str) -> Mapping[str, str]:
    """A configured home and the environment of commands in it."""
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text(
        "[fermix_core.providers.quick]\n"
        f'base_url = "{base_url}"\ndefault_model = "quick-1"\n[fermix_web]\nport = 0\n'
    )
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(folder.parent), "FERMIX_HOME": str(folder)}


@contextmanager
def daemon(home: Path, *, env: Mapping[str, str]) -> Generator[Daemon]:
    """A daemon until the block is left.

    Raises:
        TimeoutError: it does not answer.
    """
    began = time.monotonic()
    with (home.parent / "daemon.out").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "fermix.entrypoints.daemon"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _wait_until_ready(home, process, until=began + START_SECONDS)
        yield Daemon(pid=process.pid, ready_after=(time.monotonic() - began) * 1000)
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _wait_until_ready(home: Path, process: subprocess.Popen[bytes], *, until: float) -> None:
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the daemon ended with status {process.returncode}; see {home.parent}")
        try:
            with connect(home) as client:
                client.call(Verb.IDENTIFY)
            return
        except ClientError:
            time.sleep(_LOOK_EVERY_SECONDS)
    raise TimeoutError("the daemon does not answer")

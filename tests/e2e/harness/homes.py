"""Homes for real processes: their configuration, the commands run in them, and what lies in their files."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tests.e2e.harness.people import ROOT, People

LIMIT_SECONDS = 20.0
_LOOK_EVERY_SECONDS = 0.02
_T = TypeVar("_T")

API_KEY = "sk-planted-4f9c1e7a2b6d8035"
"""What the strict server asks for; no log, no output may ever hold it."""


def until(look: Callable[[], _T], *, seconds: float = LIMIT_SECONDS, what: str = "it") -> _T:
    """Look until there is something; gives back what was found."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"{what} did not happen within {seconds:g} s"
        time.sleep(_LOOK_EVERY_SECONDS)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@dataclass(slots=True, kw_only=True)
class Command:
    """A command that runs."""

    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """Its process."""
        return self.process.pid

    def end(self, *, seconds: float = LIMIT_SECONDS) -> Run:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=seconds)
        assert API_KEY.encode() not in out + err
        return Run(code=self.process.returncode, out=out.decode(), err=err.decode())


@dataclass(slots=True, kw_only=True)
class Daemon:
    """A daemon's process; its output goes into a file, so that it can never block on it."""

    home: "FermixHome"
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def pid(self) -> int:
        """Its process."""
        return self.process.pid

    def ready(self) -> "Daemon":
        """Wait until its clients can connect."""

        def told() -> bool:
            assert self.process.poll() is None, f"the daemon ended: {self.printed()}"
            return self.home.told().get("pid") == self.pid

        until(told, what="the daemon's start")
        return self

    def http_port(self) -> int:
        """The port of its HTTP server."""
        port: int = until(lambda: self.home.told().get("http_port") or 0, what="the HTTP server")
        return port

    def printed(self) -> str:
        """What it wrote to stdout and stderr so far."""
        return self.output.read_text()

    def died(self) -> None:
        """Wait until it has killed itself."""
        assert self.process.wait(timeout=LIMIT_SECONDS) == -9, self.printed()

    def kill(self) -> None:
        """`kill -9`."""
        self.process.kill()
        self.process.wait(timeout=LIMIT_SECONDS)

    def terminate(self) -> int:
        """SIGTERM, and its exit status."""
        self.process.terminate()
        return self.process.wait(timeout=LIMIT_SECONDS)


@dataclass(slots=True, kw_only=True)
class FermixHome:
    """One `FERMIX_HOME`."""

    path: Path
    environ: dict[str, str]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def configure(self, text: str) -> None:
        """Write `config.toml` whole."""
        (self.path / "config.toml").write_text(text)

    def use(self, base_url: str, *, model: str = "strict-1", core: str = "", more: str = "") -> None:
        """Ask the model server at `base_url`, serve HTTP on a free port; `core` and `more` are further TOML."""
        self.configure(
            f"{core}\n"
            "[fermix_core.providers.strict]\n"
            f'base_url = "{base_url}"\napi_key = "{API_KEY}"\ndefault_model = "{model}"\n'
            f"[fermix_web]\nport = 0\n{more}\n"
        )

    def daemon(
        self,
        *,
        far: People | None = None,
        kill: str | None = None,
        max_text: int | None = None,
        clock: Path | None = None,
        ear: Path | None = None,
        broken: Path | None = None,
    ) -> Daemon:
        """Start a daemon, with the test-only channel if there is a far side, or the transcriber of `ear`.

        With a far side its disk refuses to sync the ledger while the file `broken` is there.
        """
        arguments = ["-m", "fermix.entrypoints.daemon"]
        if ear is not None:
            arguments = ["-m", "tests.e2e.hearing_daemon", "--ear", str(ear)]
        if far is not None:
            arguments = ["-m", "tests.e2e.harness.killable_daemon", "--far", str(far.platform_port)]
        if kill is not None:
            arguments += ["--kill", kill]
        if max_text is not None:
            arguments += ["--max-text", str(max_text)]
        if clock is not None:
            arguments += ["--clock", str(clock)]
        if broken is not None:
            arguments += ["--broken", str(broken)]
        output = self.path.parent / f"daemon-{len(self.started)}.out"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.started.append(process)
        return Daemon(home=self, process=process, output=output)

    def start(self, *arguments: str, stdin: bytes | None = None) -> Command:
        """Start a `fermix` command in the background."""
        process = subprocess.Popen(
            [sys.executable, "-m", "fermix.entrypoints.cli.main", *arguments],
            cwd=ROOT,
            env=self.environ,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        if stdin is not None:
            assert process.stdin is not None
            process.stdin.write(stdin)
            process.stdin.close()
            process.stdin = None
        return Command(process=process)

    def fermix(self, *arguments: str, stdin: bytes | None = None, seconds: float = 60.0) -> Run:
        """Run a `fermix` command to its end."""
        return self.start(*arguments, stdin=stdin).end(seconds=seconds)

    def told(self) -> Mapping[str, Any]:
        """What `daemon.json` says; nothing while it is not there."""
        try:
            found: Mapping[str, Any] = json.loads((self.path / "daemon.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return found

    def log(self) -> str:
        """The log so far."""
        path = self.path / "logs" / "fermix.log"
        return path.read_text() if path.exists() else ""

    def rows(self, sql: str, *values: str | int) -> list[tuple[Any, ...]]:
        """What a query finds in a copy of the ledger; its own files are not touched."""
        copy = self.path.parent / "ledger-copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for file in self.path.glob("ledger.db*"):
            shutil.copy(file, copy)
        with closing(apsw.Connection(str(copy / "ledger.db"))) as connection:
            return list(connection.execute(sql, values))


@contextmanager
def open_home(folder: Path, *, variables: Mapping[str, str] | None = None) -> Generator[FermixHome]:
    """A new home in `folder`; whatever was started in it ends with the block, and no secret was written down."""
    path = folder / "home"
    path.mkdir(mode=0o700)
    environ = {**os.environ, "FERMIX_HOME": str(path), "PYTHONWARNINGS": "error", **(variables or {})}
    home = FermixHome(path=path, environ=environ)
    try:
        yield home
    finally:
        for process in home.started:
            if process.poll() is None:
                process.kill()
            process.wait(timeout=LIMIT_SECONDS)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
    written = [path / "logs" / "fermix.log", *folder.glob("daemon-*.out")]
    assert not [file for file in written if file.exists() and API_KEY.encode() in file.read_bytes()]

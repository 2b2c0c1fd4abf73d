"""The model's process seen from the gateway: start it, hear that it is ready, keep its last words, end it."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from fermix.infrastructure.system.child_python import Launch

_PROGRAM = "fermix.infrastructure.providers.local.server"
_MAX_REPORT_BYTES = 65_536
_TAIL_BYTES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOrder:
    """What the process is to serve.

    Attributes:
        model_path: a GGUF file.
        model: the id it is served under.
        context_window: tokens, prompt and answer together.
        threads: for computing; `None` for one less than the machine has cores, at most 8.
        api_key: required of every request.
    """

    model_path: Path
    model: str
    context_window: int
    threads: int | None
    api_key: str = field(repr=False)

    def line(self) -> bytes:
        """The one line the process reads."""
        order = {
            "model_path": str(self.model_path),
            "model": self.model,
            "context_window": self.context_window,
            "threads": self.threads,
            "api_key": self.api_key,
        }
        return json.dumps(order).encode() + b"\n"


class RefusalKind(StrEnum):
    """Why a process does not serve."""

    PACKAGE_MISSING = "package_missing"
    LOAD_FAILED = "load_failed"
    TOO_SLOW = "too_slow"
    DIED = "died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """The process serves on this port of 127.0.0.1."""

    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The process does not serve; `cause` is for the operator."""

    kind: RefusalKind
    cause: str


Report: TypeAlias = Listening | Refused


class ServerProcess:
    """One running child. `keep_last_words` must run beside `report`, else a full pipe would stop the child."""

    def __init__(self, process: Process) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process must have three pipes")
        self._process = process
        self._orders = process.stdin
        self._answers = process.stdout
        self._errors = process.stderr
        self._tail = b""
        self._quiet = anyio.Event()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def report(self, order: ServerOrder, *, within: float) -> Report:
        """Hand over the order and wait for the child's answer, at most `within` seconds."""
        with anyio.move_on_after(within):
            try:
                await self._orders.send(order.line())
                answer = BufferedByteReceiveStream(self._answers)
                return _read_report(await answer.receive_until(b"\n", _MAX_REPORT_BYTES))
            except (
                anyio.BrokenResourceError,
                anyio.EndOfStream,
                anyio.IncompleteRead,
                anyio.DelimiterNotFound,
            ):
                return Refused(kind=RefusalKind.DIED, cause=f"while loading {await self.ended()}")
        return Refused(kind=RefusalKind.TOO_SLOW, cause=f"it was not ready after {within:g} s")

    async def keep_last_words(self) -> None:
        """Read the child's errors until they end, keeping the newest 4 KiB."""
        try:
            with suppress(anyio.BrokenResourceError):
                async for chunk in self._errors:
                    self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        finally:
            self._quiet.set()

    async def last_words(self) -> str:
        """The newest errors as text; waits a second at most for those still on their way."""
        with anyio.move_on_after(1):
            await self._quiet.wait()
        return self._tail.decode(errors="replace").strip()

    async def ended(self) -> str:
        """Wait until the child is gone and say how it went."""
        status = await self._process.wait()
        return f"the process ended with {f'signal {-status}' if status < 0 else f'exit code {status}'}"

    async def end(self, *, patience: float) -> None:
        """Close the pipe, which ends the child; then ask; then kill. At most three times `patience` seconds."""
        with anyio.CancelScope(shield=True):
            await self._orders.aclose()
            for insist in (self._process.terminate, self._process.kill):
                with anyio.move_on_after(patience):
                    await self._process.wait()
                    break
                with suppress(ProcessLookupError):
                    insist()
            with anyio.move_on_after(patience):
                await self._process.wait()
            if self._process.returncode is not None:
                await self._process.aclose()


async def start_server(launch: Launch) -> ServerProcess:
    """Start the child; it waits for its order. The caller must `end` it.

    Raises:
        OSError: no process could be started.
    """
    return ServerProcess(await launch.start(_PROGRAM, keep_errors=True))


def _read_report(line: bytes) -> Report:
    try:
        report = json.loads(line)
        if "port" in report:
            return Listening(port=int(report["port"]))
        return Refused(kind=RefusalKind(report["error"]), cause=str(report["detail"]))
    except (ValueError, TypeError, KeyError) as error:
        # Something else wrote on the child's standard output, e.g. a site customisation.
        return Refused(kind=RefusalKind.DIED, cause=f"unreadable report {line[:200]!r}: {error}")

"""One signal-cli process: started, spoken to line by line, listened to for trouble, ended on every path."""

from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from subprocess import PIPE
from typing import Self

import anyio
from anyio.abc import ByteReceiveStream, Process

from fermix.infrastructure.channels.signal.beside import beside
from fermix.infrastructure.channels.signal.errors import CannotStart, Trouble, recognised

MAX_LINE_BYTES = 4 * 1024 * 1024
"""A longer line is passed over; no message of Signal's comes near it."""

_MAX_WORDS = 8192
_CHUNK_BYTES = 65_536
_LOCK_TAKEN = b"lock acquired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How signal-cli is started.

    Attributes:
        program: a path, or a name that is looked up in PATH.
        account: the phone number, with `+`; `None` for all accounts that signal-cli has.
        environment: the child's whole environment, without any secret of ours.
        patience: seconds that a process is given to end by itself, and again after each way of insisting.
        lock_patience: seconds that it may wait for another process to let go of the account.
    """

    program: str
    account: str | None
    environment: Mapping[str, str] = field(repr=False)
    patience: float = 3.0
    lock_patience: float = 10.0

    def command(self, *arguments: str) -> list[str]:
        """The whole command line; the output option is one of signal-cli's own, before any command."""
        account = () if self.account is None else ("-a", self.account)
        return [self.program, "--output=json", *account, *arguments]


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was passed over for its length."""


class Lines:
    """The lines of a stream without their ends; more is read only when the next one is asked for."""

    def __init__(self, stream: ByteReceiveStream, *, limit: int = MAX_LINE_BYTES) -> None:
        self._stream = stream
        self._limit = limit
        self._whole: deque[bytes | TooLong] = deque()
        self._rest = bytearray()
        self._skipping = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes | TooLong:
        while not self._whole:
            try:
                self._add(await self._stream.receive(_CHUNK_BYTES))
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError) as exc:
                raise StopAsyncIteration from exc
        return self._whole.popleft()

    def _add(self, chunk: bytes) -> None:
        self._rest += chunk
        if b"\n" in chunk:
            *whole, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
            for line in whole:
                too_long, self._skipping = self._skipping or len(line) > self._limit, False
                self._whole.append(TooLong() if too_long else line.rstrip(b"\r"))
        if len(self._rest) > self._limit:
            self._skipping, self._rest = True, bytearray()


class Child:
    """A running process. Its standard error must be heard all the time, else a full pipe would stop it."""

    def __init__(self, process: Process, *, launch: Launch) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process must have three pipes")
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._stderr = process.stderr
        self._patience = launch.patience
        self._lock_patience = launch.lock_patience
        self._troubles: set[Trouble] = set()
        self._is_locked_out = False
        self._is_told_all = False
        self._told = anyio.Event()
        self._quiet = anyio.Event()

    def lines(self) -> Lines:
        """What it writes, line by line, until it ends; asked for once."""
        return Lines(self._stdout)

    async def write(self, line: bytes) -> None:
        """Hand it one whole line; cancelled, it is handed over nevertheless.

        Raises:
            OSError: it does not listen any more.
        """
        try:
            await self._stdin.send(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as exc:
            raise BrokenPipeError from exc

    async def say_no_more(self) -> None:
        """Close its standard input."""
        self._is_told_all = True
        with suppress(OSError, anyio.BrokenResourceError):
            await self._stdin.aclose()

    async def hear_troubles(self) -> Exception | None:
        """Listen to its standard error until it ends; what is recognised is noted, the rest forgotten."""
        try:
            async for line in Lines(self._stderr, limit=_MAX_WORDS):
                if isinstance(line, TooLong):
                    continue
                if (trouble := recognised(line)) is Trouble.IN_USE or _LOCK_TAKEN in line:
                    self._is_locked_out = trouble is Trouble.IN_USE
                    told, self._told = self._told, anyio.Event()
                    told.set()
                elif trouble is not None:
                    self._troubles.add(trouble)
        finally:
            self._quiet.set()
        return None

    async def locked_out(self) -> CannotStart:
        """Wait until the process has waited too long for another one to let go of the account."""
        while True:
            while not self._is_locked_out:
                await self._told.wait()
            with anyio.move_on_after(self._lock_patience) as waiting:
                while self._is_locked_out:
                    await self._told.wait()
            if waiting.cancelled_caught:
                return CannotStart(Trouble.IN_USE)

    async def ended(self) -> CannotStart:
        """Wait until it is gone, and say why."""
        status = await self._process.wait()
        with anyio.move_on_after(self._patience):
            await self._quiet.wait()
        how = f"signal {-status}" if status < 0 else f"exit code {status}"
        trouble = next((one for one in Trouble if one in self._troubles), Trouble.OTHER)
        return CannotStart(trouble, how=how)

    async def status(self) -> int:
        """Wait until it is gone; its exit status."""
        return await self._process.wait()

    async def end(self) -> None:
        """Close its input, which ends it; then ask; then kill. What waits for no input is asked at once."""
        waits_for_input = not self._is_locked_out and not self._is_told_all
        with anyio.CancelScope(shield=True):
            await self.say_no_more()
            if not waits_for_input:
                with suppress(ProcessLookupError):
                    self._process.terminate()
            for insist in (self._process.terminate, self._process.kill):
                with anyio.move_on_after(self._patience):
                    await self._process.wait()
                    break
                with suppress(ProcessLookupError):
                    insist()
            with anyio.move_on_after(self._patience):
                await self._process.wait()
            if self._process.returncode is not None:
                await self._process.aclose()


@asynccontextmanager
async def running(launch: Launch, *arguments: str) -> AsyncGenerator[Child]:
    """A process of its own while the context lasts.

    A session of its own keeps a terminal's Ctrl-C away from it: what is being answered is still delivered.

    Raises:
        CannotStart: there is no such program, or it may not be run.
    """
    try:
        with anyio.CancelScope(shield=True):  # cancelled half-way a started child would have no owner
            process = await anyio.open_process(
                launch.command(*arguments),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=launch.environment,
                start_new_session=True,
            )
    except FileNotFoundError as exc:
        raise CannotStart(Trouble.MISSING) from exc
    except OSError as exc:
        raise CannotStart(Trouble.FORBIDDEN, how=exc.strerror or "") from exc
    child = Child(process, launch=launch)
    async with beside(child.hear_troubles):
        try:
            yield child
        finally:
            await child.end()

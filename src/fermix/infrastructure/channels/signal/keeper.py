"""Keeps the one lasting process: started when somebody needs it, and again after it died."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from fermix.infrastructure.channels.signal.beside import beside
from fermix.infrastructure.channels.signal.errors import CannotStart, NoAnswer, NotSent, Refused, Trouble
from fermix.infrastructure.channels.signal.mailbox import Mailbox
from fermix.infrastructure.channels.signal.process import Child, Launch, running
from fermix.infrastructure.channels.signal.rpc import RpcLine

START_SECONDS = 45.0
"""A virtual machine of Java's takes its time on a small computer; who waits for it is told within a minute."""

COMMAND = ("jsonRpc", "--receive-mode", "manual")
"""It receives only while we ask it to, so that what comes while nobody commits stays on Signal's servers."""

_TURNS = 6
"""Of the event loop: so many until the end of a process that is gone already has come to be known here."""

_log = logging.getLogger("fermix.signal")


@dataclass(slots=True)
class _Start:
    """One start of the process, for all who wait for it."""

    line: RpcLine | None = None
    trouble: Trouble | None = None
    how: str = ""
    settled: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_past(self) -> bool:
        failed = self.trouble is not None
        return failed or (self.line is not None and self.line.over.is_set())


class Keeper:
    """`keep` must run while it is used; it ends the process when it is cancelled."""

    def __init__(self, launch: Launch, *, mailbox: Mailbox, start_seconds: float = START_SECONDS) -> None:
        self._launch = launch
        self._mailbox = mailbox
        self._start_seconds = start_seconds
        self._start = _Start()
        self._wanted = anyio.Event()

    async def line(self) -> RpcLine:
        """The line to the running process, which is started when there is none.

        Raises:
            CannotStart: it does not come as far as answering.
        """
        for _ in range(_TURNS):
            await anyio.lowlevel.checkpoint()
        if self._start.is_past:
            self._start = _Start()
        start = self._start
        self._wanted.set()
        await start.settled.wait()
        if start.line is None:
            raise CannotStart(start.trouble or Trouble.OTHER, how=start.how)
        return start.line

    async def keep(self) -> None:
        """Start it whenever it is wanted, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            start = self._start
            if start.is_past:
                continue
            try:
                end = await self._run(start)
            except CannotStart as exc:
                end = exc
            if start.line is None:
                start.trouble, start.how = end.trouble, end.how
                start.settled.set()
            _log.warning("signal.process_ended", extra={"cause": str(end)})

    async def _run(self, start: _Start) -> CannotStart:
        async with running(self._launch, *COMMAND) as child:
            line = RpcLine(child, take=self._mailbox.put)
            async with beside(line.listen):
                version = await self._greet(child, line)
                _log.info("signal.process_started", extra={"version": version})
                start.line = line
                start.settled.set()
                await line.over.wait()
                return await child.ended()

    async def _greet(self, child: Child, line: RpcLine) -> str:
        """Ask for its version: the answer shows that it has the account and takes requests."""
        try:
            async with beside(child.locked_out):
                told = await line.request("version", {}, within=self._start_seconds)
        except (NotSent, NoAnswer, Refused) as exc:
            if line.over.is_set():
                raise await child.ended() from exc
            raise CannotStart(Trouble.SILENT) from exc
        version = told.get("version") if isinstance(told, Mapping) else None
        return str(version)[:40]

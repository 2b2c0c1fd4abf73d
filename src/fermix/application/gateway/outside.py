"""Commands whose work lies outside the ledger: done after their commit, in tasks of the gateway."""

import logging
from collections import deque
from dataclasses import dataclass, field

import anyio

from fermix.application.commands.outside import CarriesOut, OutsideCommand
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.gateway.dispatcher import Dispatcher
from fermix.application.patience import until_stored
from fermix.application.ports.admissions import Admissions
from fermix.application.ports.clock import Clock
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.wakeup import Wakeup
from fermix.domain import approval_wording, wording
from fermix.domain.delivery import TextPart
from fermix.domain.ids import MessageRow, TurnId

_log = logging.getLogger("fermix.commands")

MAX_WAITING = 100
"""Commands that wait or run; no more are taken then, beyond those of the list that brought the last one."""

MAX_AT_ONCE = 8
LIMIT_SECONDS = 60.0
"""How long one may take, before its sender is told that nobody knows."""


@dataclass(slots=True, kw_only=True)
class CommandUnderWay:
    """A command that was taken; its row is on disk, so that a death in between is reported by the next start.

    Attributes:
        instead_of: the turn it took the place of, whose watchers wait for its reply.
    """

    row: MessageRow
    command: OutsideCommand
    instead_of: TurnId | None = None
    _replied: anyio.Event = field(default_factory=anyio.Event)

    async def replied(self) -> int:
        """Wait until its reply is committed; how many parts that has."""
        await self._replied.wait()
        return 1

    def note_reply(self) -> None:
        """Its reply is committed."""
        self._replied.set()


class OutsideCommands:
    """Works on the commands of one conversation one after another, and on those of several at the same time."""

    def __init__(
        self,
        *,
        carries_out: CarriesOut,
        admissions: Admissions,
        deliverer: Deliverer,
        dispatcher: Dispatcher,
        clock: Clock,
    ) -> None:
        self._carries_out = carries_out
        self._admissions = admissions
        self._deliverer = deliverer
        self._dispatcher = dispatcher
        self._clock = clock
        self._wakeup = Wakeup(clock)
        self._queues: dict[str, deque[CommandUnderWay]] = {}
        self._fresh: deque[str] = deque()
        self._count = 0
        self._slots = anyio.CapacityLimiter(MAX_AT_ONCE)
        self._idle = anyio.Event()

    @property
    def is_busy(self) -> bool:
        """Whether no more should be taken."""
        return self._count >= MAX_WAITING

    def submit(
        self, row: MessageRow, command: OutsideCommand, *, instead_of: TurnId | None = None
    ) -> CommandUnderWay:
        """Do a committed command next in its conversation."""
        taken = CommandUnderWay(row=row, command=command, instead_of=instead_of)
        self._count += 1
        key = command.route.key
        if key in self._queues:
            self._queues[key].append(taken)
        else:
            self._queues[key] = deque([taken])
            self._fresh.append(key)
            self._wakeup.wake()
        return taken

    def stopped(self) -> None:
        """Follow a committed stop."""
        self._carries_out.stopped()

    async def drained(self) -> None:
        """Return once nothing waits or runs any more."""
        while self._count:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def run(self) -> None:
        """Serve until cancelled; errors that end the process pass through."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._wakeup.wait(None)
                while self._fresh:
                    tasks.start_soon(self._serve_one_conversation, self._fresh.popleft())

    async def _serve_one_conversation(self, key: str) -> None:
        queue = self._queues[key]
        try:
            while queue:
                async with self._slots:
                    await self._do(queue[0])
                queue.popleft()
                self._count -= 1
        finally:
            del self._queues[key]
            self._idle.set()

    async def _do(self, taken: CommandUnderWay) -> None:
        text = await self._text(taken.command)
        parts = await until_stored(
            self._clock,
            "command reply",
            lambda: self._admissions.finish_command(taken.row, (TextPart(text=text),)),
        )
        taken.note_reply()
        self._deliverer.submit(parts)
        if taken.instead_of is not None:
            self._dispatcher.answered(taken.instead_of, text)
        self._dispatcher.wake()
        await self._tidy(taken.command)

    async def _tidy(self, command: OutsideCommand) -> None:
        try:
            await self._carries_out.tidy(command)
        except LedgerError:
            raise
        except Exception:  # noqa: BLE001  # an adapter's bug must not end the gateway
            _log.exception("command.not_tidied", extra={"work": type(command.work).__name__})

    async def _text(self, command: OutsideCommand) -> str:
        try:
            with anyio.fail_after(LIMIT_SECONDS):
                return await self._carries_out.carry_out(command)
        except TimeoutError:
            _log.warning("command.too_slow", extra={"work": type(command.work).__name__})
            return approval_wording.TOO_SLOW
        except LedgerError:
            raise
        except Exception:  # noqa: BLE001  # a bug in one command must neither end the gateway nor leave it unanswered
            _log.exception("command.crashed", extra={"work": type(command.work).__name__})
            return wording.APOLOGY

"""From lanes to running turns: the table is the queue, memory knows only what runs."""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from fermix.application.ports.admissions import StopReport
from fermix.application.ports.clock import Clock
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.application.ports.model import ModelProfile
from fermix.application.ports.turns import ClaimedTurn, Turns
from fermix.application.turns.events import TurnEvents
from fermix.application.wakeup import Wakeup
from fermix.domain.events import TurnCompleted, TurnSettled
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.dispatcher")

_PAUSE = timedelta(seconds=1)

RunTurn = Callable[[ClaimedTurn], Awaitable[None]]


def turn_slots(wanted: int, route: ModelProfile | None) -> int:
    """How many turns run at once: what the owner wants, or fewer where the answering provider takes fewer."""
    own = None if route is None else route.max_concurrent_turns
    return wanted if own is None else min(wanted, own)


class Preparation(Protocol):
    """What turns wait for before they can start."""

    def wake(self) -> None:
        """Something new is to be prepared."""
        ...

    def ended(self, turn: TurnId) -> None:
        """This turn will not start any more."""
        ...


class _NothingPrepared:
    def wake(self) -> None:
        """Nothing is ever to be prepared."""

    def ended(self, turn: TurnId) -> None:
        """Nobody works for it."""


NOTHING_PREPARED: Preparation = _NothingPrepared()


class Dispatcher:
    """Claims as many heads of lanes as it has free slots, and runs each in a task of its own."""

    def __init__(
        self,
        *,
        turns: Turns,
        run_turn: RunTurn,
        events: TurnEvents,
        clock: Clock,
        channels: Collection[ChannelName],
        slots: int,
        preparation: Preparation = NOTHING_PREPARED,
    ) -> None:
        self._preparation = preparation
        self._turns = turns
        self._run_turn = run_turn
        self._events = events
        self._clock = clock
        self._channels = frozenset(channels)
        self._slots = slots
        self._wakeup = Wakeup(clock)
        self._running: dict[TurnId, anyio.CancelScope] = {}
        self._claims: dict[TurnId, ClaimedTurn] = {}
        self._stopped: set[TurnId] = set()
        self._claiming = True
        self._looking = False
        self._idle = anyio.Event()

    def wake(self) -> None:
        """Look for turns to start."""
        self._wakeup.wake()

    def look_for_media(self) -> None:
        """Something was committed that must be prepared before its turn can start."""
        self._preparation.wake()

    def running(self) -> int:
        """How many turns run now."""
        return len(self._running)

    def stopped(self, report: StopReport) -> None:
        """Follow a committed stop: cancel what runs, and tell the watchers of what waited."""
        self.cancel(report.running)
        for turn in report.waiting:
            self._end(turn, Outcome.CANCELLED)
        self.wake()

    def cancel(self, turns: Iterable[TurnId], *, text: str = "") -> None:
        """Cancel the tasks of turns the ledger has already ended, and tell their watchers `text`.

        A stop may be committed between a claim's commit and its task; such a turn is not started at all.
        """
        for turn in turns:
            scope = self._running.get(turn)
            self._end(turn, Outcome.INTERRUPTED, text)
            if scope is not None:
                scope.cancel()
            elif self._looking:
                self._stopped.add(turn)

    def answered(self, turn: TurnId, text: str) -> None:
        """Tell the watchers of a waiting turn that a command took its place, and what that said."""
        self._end(turn, Outcome.COMPLETED, text)

    def _end(self, turn: TurnId, outcome: Outcome, text: str = "") -> None:
        self._preparation.ended(turn)
        self._events.publish(turn, TurnSettled(outcome=outcome, text=text))
        self._events.publish(turn, TurnCompleted(outcome=outcome))

    def watched_unstarted(self) -> tuple[TurnId, ...]:
        """Turns that somebody waits for and that have not started."""
        return tuple(turn for turn in self._events.unstarted() if turn not in self._running)

    def stop_claiming(self) -> None:
        """Start nothing more but what is being claimed at this moment; what runs goes on."""
        self._claiming = False
        self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        if not (self._claiming or self._looking or self._running):
            self._idle.set()

    async def drained(self) -> None:
        """Return once nothing runs any more; only after `stop_claiming`."""
        await self._idle.wait()

    async def run(self) -> None:
        """Serve until cancelled. Errors that end the process (a broken ledger, a lost home) pass through."""
        async with anyio.create_task_group() as tasks:
            due: datetime | None = None
            while True:
                await self._wakeup.wait(due)
                due = await self._start_heads(tasks)

    async def _start_heads(self, tasks: TaskGroup) -> datetime | None:
        free = self._slots - len(self._running)
        if free <= 0 or not self._claiming:
            return None
        self._looking = True
        try:
            claims = await self._turns.claim(limit=free, channels=self._channels)
            for claim in claims.turns:
                if claim.turn not in self._stopped:
                    self._running[claim.turn] = anyio.CancelScope()
                    self._claims[claim.turn] = claim
                    tasks.start_soon(self._run_one, claim, name=f"turn {claim.turn}")
        except LedgerUnavailable as exc:
            _log.warning("dispatcher.claim_waits", extra={"cause": str(exc) or type(exc).__name__})
            return self._clock.now() + _PAUSE
        finally:
            self._looking = False
            self._stopped.clear()
            self._look_whether_idle()
        return claims.next_due

    async def _run_one(self, claim: ClaimedTurn) -> None:
        scope = self._running[claim.turn]
        try:
            with scope:
                await self._run_turn(claim)
            if scope.cancelled_caught:
                _log.info("turn.cancelled", extra={"turn": claim.turn})
        finally:
            del self._running[claim.turn]
            self._claims.pop(claim.turn, None)
            self._wakeup.wake()
            self._look_whether_idle()

    def claims(self) -> tuple[ClaimedTurn, ...]:
        """The turns that run now."""
        return tuple(self._claims.values())

    def abandon(self, turn: TurnId) -> None:
        """Cancel the task of a turn that went back to the queue."""
        scope = self._running.get(turn)
        if scope is not None:
            scope.cancel()

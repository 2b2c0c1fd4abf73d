"""One gateway as a process that can die: between any two calls of its ledger, and around each send."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from typing_extensions import override

from fermix.application.ports.channel import ChannelRejected, Delivered, OutgoingPart
from fermix.application.ports.model import ModelAnswer, ModelProfile, ModelRequest
from fermix.domain.authorization import Policies
from fermix.domain.history import UserEntry
from fermix.domain.ids import PlatformMessageId
from fermix.domain.lane import QueueLimits
from fermix.testing.clock import CountedIds
from fermix.testing.histories import Sabotage
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.memory_ledger import MemoryLedger
from fermix.testing.model_harness import Deed
from fermix.testing.scripted_model import ScriptedModel, ScriptedProvider
from tests.unit.application.house import TEST, House, TestChannel, build

T = TypeVar("T")

SLOTS = 2
LIMITS = QueueLimits(per_conversation=3, total=6)
_CALM = 25
"""So many turns of the loop without news count as rest where the loop cannot say that all its tasks wait."""


class Died(BaseException):
    """The process is no more. No `Exception`: nobody may catch it and go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of the ledger that was committed: which, with what, and what it gave back."""

    name: str
    given: tuple[Any, ...]
    named: dict[str, Any]
    result: Any


@dataclass(slots=True)
class Gate:
    """A request that waits for its answer."""

    question: str
    opened: anyio.Event = field(default_factory=anyio.Event)
    deed: Deed | None = None
    bug: bool = False


class GatedModel:
    """The scripted model, whose requests wait until they are let through, one at a time."""

    def __init__(self) -> None:
        self._provider = ScriptedProvider()
        self._inner = ScriptedModel(self._provider)
        self.gates: list[Gate] = []
        self.asked = 0

    @property
    def profile(self) -> ModelProfile:
        return self._inner.profile

    async def complete(
        self,
        request: ModelRequest,
        *,
        on_text: Callable[[str], None],
        on_thought: Callable[[str], None] | None = None,
    ) -> ModelAnswer:
        question = next(e.text for e in reversed(request.entries) if isinstance(e, UserEntry))
        gate = Gate(question)
        self.gates.append(gate)
        self.asked += 1
        try:
            await gate.opened.wait()
        finally:
            self.gates.remove(gate)
        if gate.bug:
            raise RuntimeError("a bug")
        if gate.deed is not None:
            self._provider.will(gate.deed)
        return await self._inner.complete(request, on_text=on_text)


@dataclass(slots=True, kw_only=True)
class Death:
    """Dies at the n-th moment from when it was planned; `None` for never.

    Attributes:
        moments: how many moments there were so far; a new one shows that something goes on.
    """

    at: int | None = None
    moments: int = 0
    dead: bool = False

    def is_due(self) -> bool:
        """Count a moment; whether it is the last one."""
        self.moments += 1
        if self.dead:
            raise Died
        if self.at is None:
            return False
        self.at -= 1
        return self.at < 0


class MortalPort:
    """A port of the ledger: one call at a time, each with a moment to die before it and one after it."""

    def __init__(self, port: object, process: "Process") -> None:
        self._port = port
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def mortal(*given: object, **named: object) -> Any:
            work = partial(getattr(self._port, name), *given, **named)
            return await self._process.call(name, given, named, work)

        return mortal


class MortalLedger:
    """All ports of a ledger, as a process has them that can die."""

    def __init__(self, ledger: OpenLedger, process: "Process") -> None:
        self.admissions = MortalPort(ledger.admissions, process)
        self.turns = MortalPort(ledger.turns, process)
        self.outbox = MortalPort(ledger.outbox, process)
        self.ownership = MortalPort(ledger.ownership, process)
        self.conversations = MortalPort(ledger.conversations, process)
        self.queue = MortalPort(ledger.queue, process)


@dataclass(slots=True)
class MortalChannel(TestChannel):
    """What it was sent is seen by people; whoever sends may die before that, and after it."""

    moment: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
    seen: list[OutgoingPart] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    lose_answer: Exception | None = None

    @override
    async def send(self, part: OutgoingPart) -> Delivered:
        await self.moment()
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, ChannelRejected):
                self.refused.append(str(part.target.reply_to))
            raise fault
        self.seen.append(part)
        lost, self.lose_answer = self.lose_answer, None
        await self.moment()
        if lost is not None:
            raise lost
        return Delivered(platform_id=PlatformMessageId(f"p{len(self.seen)}"))


class Process:
    """From its start to its death or its end. Everything it does happens in one task group, which dies with it."""

    def __init__(
        self,
        harness: LedgerHarness,
        *,
        ids: CountedIds,
        seen: list[OutgoingPart],
        policies: Policies,
        sabotage: Sabotage | None = None,
    ) -> None:
        self._sabotage = sabotage
        self._harness = harness
        self._ids = ids
        self._policies = policies
        self.death = Death()
        self.calls: list[Call] = []
        self.channel = MortalChannel(moment=self.moment_between_calls, seen=seen)
        self.model = GatedModel()
        self._turn = anyio.Lock()
        self._busy = 0
        self._rest = anyio.Event()
        self._over = anyio.Event()
        self._begun, self._ended = anyio.Event(), anyio.Event()
        self._tasks: TaskGroup | None = None
        self._house: House | None = None
        self._ledger: OpenLedger | None = None

    @property
    def ledger(self) -> OpenLedger:
        """Its ledger, while it lives."""
        assert self._ledger is not None
        return self._ledger

    @property
    def house(self) -> House:
        """The gateway and what is around it, once it has started."""
        assert self._house is not None
        return self._house

    @property
    def dead(self) -> bool:
        """Whether it has died."""
        return self.death.dead

    async def moment(self) -> None:
        """A moment at which it may die."""
        if self.death.is_due():
            await self._harness.kill()
            self.death.dead = True
            raise Died
        await anyio.lowlevel.checkpoint()

    async def moment_between_calls(self) -> None:
        """The same, but never while the ledger is at work: what it commits then would be nobody's."""
        async with self._turn:
            await self.moment()

    async def call(
        self, name: str, given: tuple[object, ...], named: dict[str, Any], work: Callable[[], Awaitable[T]]
    ) -> T:
        """Make one call of the ledger; what it committed is noted at once."""
        self._busy += 1
        try:
            async with self._turn:
                await self.moment()
                result = await work()
                self.calls.append(Call(name=name, given=given, named=named, result=result))
                await self.moment()
                return result
        finally:
            self._busy -= 1
            self._rest.set()

    async def live(self) -> None:
        """Take the home, recover, and serve until it is ended or dies."""
        try:
            async with self._opened() as ledger, anyio.create_task_group() as tasks:
                self._tasks, self._ledger = tasks, ledger
                house = build(
                    cast("Any", self.model),
                    slots=SLOTS,
                    ledger=cast("MemoryLedger", ledger),
                    clock=self._harness.clock,
                    ids=self._ids,
                    channel=self.channel,
                )
                house.policies.policies = self._policies
                await ledger.ownership.take(instance="a process", boot="boot")
                recovered = await ledger.ownership.recover(channels=frozenset({TEST}))
                tasks.start_soon(house.deliverer.run)
                house.deliverer.submit(recovered.parts)
                tasks.start_soon(house.dispatcher.run)
                house.dispatcher.wake()
                self._house = house
                self._begun.set()
                await self._over.wait()
                tasks.cancel_scope.cancel()
        except* Died:
            pass
        finally:
            self._begun.set()
            self._ended.set()

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Any]:
        async with self._harness.open(limits=LIMITS) as ledger:
            yield MortalLedger(ledger if self._sabotage is None else self._sabotage(ledger), self)

    async def does(self, act: Callable[[House], Awaitable[T]]) -> T | None:
        """Let it do something; `None` when it died of it."""
        results: list[T] = []

        async def do() -> None:
            results.append(await act(self.house))

        assert self._tasks is not None
        self._tasks.start_soon(do)
        await self.settles()
        return results[0] if results else None

    async def settles(self) -> None:
        """Return when it has done all it can do by itself, or is dead and gone."""
        await self._begun.wait()
        calm, before = 0, -1
        while calm < _CALM and not self._ended.is_set():
            await anyio.lowlevel.checkpoint()
            if self.dead:
                await self._ended.wait()
            elif self._busy:
                self._rest = anyio.Event()
                if self._busy:
                    await self._rest.wait()
                calm = 0
            else:
                now = self.death.moments + self.model.asked
                calm = calm + 1 if now == before else 0
                before = now

    async def is_killed(self) -> None:
        """`kill -9`, while it waits."""
        await self._harness.kill()
        self.death.dead = True
        await self.ends()

    async def ends(self) -> None:
        """End it without a word, as its host does when all is said."""
        self._over.set()
        await self._ended.wait()


def seconds(number: float) -> timedelta:
    """So long."""
    return timedelta(seconds=number)

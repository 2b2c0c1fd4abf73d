"""Messages in the ledger as a gateway has them there: admitted, claimed, answered, delivered."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from fermix.application.ports.admissions import Accepted
from fermix.application.ports.outbox import Sent
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain.ids import PlatformMessageId
from fermix.domain.lane import QueueLimits
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger, open_ledger
from fermix.infrastructure.system.clock import SystemClock
from fermix.infrastructure.system.ids import Uuids
from fermix.testing.samples import REMOTE, answering, asking, written

SERVED = frozenset({REMOTE})
LIMITS = QueueLimits(per_conversation=10_000, total=100_000)
_KEYS = count()


def nothing() -> None:
    """Nobody listens for a broken disk here."""


@asynccontextmanager
async def owned(path: Path) -> AsyncGenerator[SqliteLedger]:
    """A ledger in its own file, its home taken."""
    async with open_ledger(
        path, clock=SystemClock(), ids=Uuids(), limits=LIMITS, on_broken=nothing
    ) as ledger:
        await ledger.ownership.take(instance="benchmark", boot="boot")
        yield ledger


async def admit(ledger: SqliteLedger, *, chat: int) -> None:
    """One message of 60 characters."""
    key = f"m{next(_KEYS)}"
    (result,) = await ledger.admissions.admit(
        [asking(written(key, f"{key}: " + "word " * 11, chat=str(chat)))]
    )
    if not isinstance(result, Accepted):
        raise TypeError(f"not admitted: {result}")


async def claim(ledger: SqliteLedger, *, limit: int) -> tuple[ClaimedTurn, ...]:
    """Turns that may start now."""
    return (await ledger.turns.claim(limit=limit, channels=SERVED)).turns


async def finish(ledger: SqliteLedger, claimed: ClaimedTurn) -> None:
    """The turn reads its history, is answered in one part, and the part is delivered."""
    await ledger.conversations.history(claimed.lane, window=claimed.window, limit=20)
    for part in await ledger.turns.settle(answering(claimed, "answer " * 20)):
        await ledger.outbox.done(part.part, Sent(platform_id=PlatformMessageId(f"p{part.part}")))


async def live_alone(ledger: SqliteLedger, *, messages: int) -> None:
    """Whole lives one after another."""
    for _ in range(messages):
        await admit(ledger, chat=0)
        (claimed,) = await claim(ledger, limit=1)
        await finish(ledger, claimed)


class Crowd:
    """Many conversations at once, each with the next message when the last one was answered."""

    def __init__(self, ledger: SqliteLedger) -> None:
        self._ledger = ledger
        self._answered: dict[str, anyio.Event] = {}
        self._wake = anyio.Event()

    async def live(self, *, lanes: int, messages: int) -> None:
        """So many whole lives, all conversations together."""
        async with anyio.create_task_group() as turns:
            turns.start_soon(self._dispatch, turns)
            async with anyio.create_task_group() as people:
                for chat in range(lanes):
                    people.start_soon(self._write, chat, messages // lanes)
            turns.cancel_scope.cancel()

    async def _write(self, chat: int, messages: int) -> None:
        for _ in range(messages):
            answered = self._answered[str(chat)] = anyio.Event()
            await admit(self._ledger, chat=chat)
            self._wake.set()
            await answered.wait()

    async def _dispatch(self, turns: TaskGroup) -> None:
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            for claimed in await claim(self._ledger, limit=16):
                turns.start_soon(self._run, claimed)

    async def _run(self, claimed: ClaimedTurn) -> None:
        await finish(self._ledger, claimed)
        self._answered[claimed.messages[-1].message.chat.id].set()
        self._wake.set()


async def live_together(ledger: SqliteLedger, *, lanes: int, messages: int) -> None:
    """Whole lives in many conversations at once."""
    await Crowd(ledger).live(lanes=lanes, messages=messages)

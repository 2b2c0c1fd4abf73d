"""A check of the ledger's suite, and short ways to act on a ledger."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from fermix.application.ports.admissions import Accepted, Admission
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.ports.outbox import SendingPart, Sent
from fermix.application.ports.ownership import Recovered
from fermix.application.ports.turns import ClaimedTurn, EffectIntent
from fermix.domain.delivery import TextPart
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import ChannelName, ChatId, PlatformMessageId
from fermix.domain.lane import QueueLimits
from fermix.domain.recovery import Repeat
from fermix.domain.route import Route
from fermix.testing.expectations import PromiseBroken, must_be, must_equal
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.samples import LOCAL, REMOTE, asking, written

Run: TypeAlias = Callable[[LedgerHarness], Awaitable[None]]

SERVED = frozenset({REMOTE, LOCAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCheck:
    """One promise of the ledger, put to the test.

    Attributes:
        id: stable; by it an adapter names what it cannot keep.
        promise: in one sentence.
        requirements: ids of the specified behaviours it is a proof of.
        run: raises `PromiseBroken` when the promise is not kept. Needs a fresh harness.
    """

    id: str
    promise: str
    requirements: tuple[str, ...]
    run: Run


def proves(*requirements: str) -> Callable[[Run], LedgerCheck]:
    """Make a check of a function: its name is the id, its docstring the promise.

    What the ledger refuses without reason, and another number of results than was promised, break it too.
    """

    def as_check(run: Run) -> LedgerCheck:
        name = getattr(run, "__name__", "")

        async def told(harness: LedgerHarness) -> None:
            try:
                await run(harness)
            except (LedgerError, LookupError, ValueError) as exc:
                raise PromiseBroken(f"{name}: {type(exc).__name__}: {exc}") from exc

        return LedgerCheck(id=name, promise=inspect.getdoc(run) or "", requirements=requirements, run=told)

    return as_check


@asynccontextmanager
async def owned(
    harness: LedgerHarness, *, limits: QueueLimits | None = None, boot: str = "boot"
) -> AsyncGenerator[OpenLedger]:
    """A ledger whose home this process has taken."""
    async with harness.open(limits=limits) as ledger:
        await ledger.ownership.take(instance="suite", boot=boot)
        yield ledger


async def admit(ledger: OpenLedger, item: Admission) -> Accepted:
    """Admit one item that must be accepted."""
    (result,) = await ledger.admissions.admit([item])
    return must_be(result, Accepted, "admitting a new key")


async def ask(ledger: OpenLedger, key: str, *, chat: str = "7", channel: ChannelName = REMOTE) -> Accepted:
    """Admit one text."""
    return await admit(ledger, asking(written(key, f"asked {key}", chat=chat, channel=channel)))


async def claim_all(ledger: OpenLedger, *, limit: int = 16) -> tuple[ClaimedTurn, ...]:
    """Claim what can be claimed."""
    return (await ledger.turns.claim(limit=limit, channels=SERVED)).turns


async def claim_one(ledger: OpenLedger) -> ClaimedTurn:
    """Claim the one turn that can be claimed."""
    claimed = await claim_all(ledger)
    if len(claimed) != 1:
        raise PromiseBroken(f"expected one turn to claim, found {len(claimed)}")
    return claimed[0]


async def asked_and_claimed(ledger: OpenLedger, key: str = "1", *, chat: str = "7") -> ClaimedTurn:
    """Admit one text and claim its turn."""
    await ask(ledger, key, chat=chat)
    return await claim_one(ledger)


def keys(claimed: Sequence[ClaimedTurn]) -> list[list[str]]:
    """The keys of the messages of each turn."""
    return [[each.message.key for each in turn.messages] for turn in claimed]


def texts(parts: Sequence[SendingPart]) -> list[str]:
    """What parts say."""
    return [part.body.text for part in parts]


def effect(claimed: ClaimedTurn, repeat: Repeat, *, step: int = 0, shows: str | None = None) -> EffectIntent:
    """An intent of a claimed turn; with `shows` it is a part sent to the turn's people in mid-turn."""
    return EffectIntent(
        turn=claimed.turn,
        generation=claimed.generation,
        step=step,
        name="call",
        repeat=repeat,
        intent="{}",
        part=None if shows is None else TextPart(text=shows),
        target=None if shows is None else claimed.messages[-1].target,
    )


async def deliver(ledger: OpenLedger, parts: Sequence[SendingPart]) -> list[str]:
    """Send parts and whatever their targets have next; returns what they said, in order."""
    said: list[str] = []
    for part in parts:
        following: SendingPart | None = part
        while following is not None:
            said.append(following.body.text)
            sent = Sent(platform_id=PlatformMessageId(f"p{following.part}"))
            following = await ledger.outbox.done(following.part, sent)
    return said


async def recover(ledger: OpenLedger) -> Recovered:
    """Put right what older owners left."""
    return await ledger.ownership.recover(channels=SERVED)


async def remembered(
    ledger: OpenLedger, *, chat: str = "7", window: int = 0, limit: int = 1000
) -> tuple[HistoryEntry, ...]:
    """The history of a chat of the suite."""
    message = written("any", chat=chat)
    route = Route(channel=REMOTE, account=message.account, chat=ChatId(chat))
    lane = await ledger.conversations.lane_of(route)
    return () if lane is None else await ledger.conversations.history(lane, window=window, limit=limit)


async def must_stand(ledger: OpenLedger, key: str, state: str | None, outcome: str | None = None) -> None:
    """Where the turn of a message stands.

    Raises:
        PromiseBroken: it stands elsewhere.
    """
    status = await ledger.queue.find(origin="telegram:bot", key=key)
    found = None if status is None else (status.state, status.outcome)
    must_equal(found, (state, outcome), f"where message {key} stands")

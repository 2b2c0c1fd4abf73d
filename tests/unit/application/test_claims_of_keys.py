"""Ten thousand deliveries of one message at the same time are one message, and all are answered alike."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from fermix.application.gateway.consequences import Consequences
from fermix.application.gateway.dedupe import WebhookMemory
from fermix.application.gateway.gateway import Gateway, Receipt
from fermix.application.gateway.stages import Door
from fermix.application.ports.admissions import (
    Accepted,
    Admission,
    Admissions,
    AdmitResult,
    CursorMove,
    Duplicate,
)
from fermix.application.ports.channel import ChannelFeatures, Offered, Verdict
from fermix.application.ports.ledger_errors import LedgerUnavailable
from fermix.testing.clock import StoppedClock
from fermix.testing.samples import asking, written
from tests.contract.ledger.homes import HOMES
from tests.unit.application.house import DOOR, House, build, running
from tests.unit.application.scripted import ScriptedModel, raw, says

pytestmark = pytest.mark.anyio

MANY = 10_000
AT_A_TIME = 5
"""Deliveries in one list: a ledger lets only so many calls wait."""
WEBHOOK = Door(registration=DOOR.registration, features=ChannelFeatures(webhook=True))


@dataclass(slots=True)
class SlowAdmissions:
    """Admissions that wait for the test, and count what is asked of them."""

    inner: Admissions
    broken: bool = False
    gate: anyio.Event = field(default_factory=anyio.Event)
    asked: int = 0

    async def admit(
        self, batch: Sequence[Admission], *, cursor: CursorMove | None = None
    ) -> tuple[AdmitResult, ...]:
        self.asked += 1
        await self.gate.wait()
        if self.broken:
            raise LedgerUnavailable("the disk sleeps")
        return await self.inner.admit(batch, cursor=cursor)


def slowly(house: House) -> tuple[SlowAdmissions, Gateway]:
    """The house's gateway, over admissions that take their time."""
    slow = SlowAdmissions(house.ledger.admissions)
    gateway = Gateway(
        admissions=slow,  # type: ignore[arg-type]  # only `admit` is used here
        policies=house.policies,
        consequences=Consequences(
            admissions=slow,  # type: ignore[arg-type]  # only `admit` is used here
            dispatcher=house.dispatcher,
            deliverer=house.deliverer,
            clock=house.clock,
        ),
        board=house.board,
        clock=house.clock,
    )
    return slow, gateway


async def deliver(gateway: Gateway, receipts: list[Receipt], *, times: int, slow: SlowAdmissions) -> None:
    """Deliver one message so often at once; its admission goes on when all of them wait."""

    async def once() -> None:
        receipts.extend(await gateway.accept([Offered(message=raw("hello"))], WEBHOOK))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(times):
                tasks.start_soon(once)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            assert receipts == [], "nobody is answered before the first is stored"
            slow.gate.set()


@pytest.mark.requirement("ingress.dedupe.atomic", "ingress.dedupe.second_waits_for_first")
async def test_of_ten_thousand_deliveries_at_once_one_is_fresh_and_all_wait_for_it() -> None:
    async with running(build(ScriptedModel([says("hi")]))) as house:
        slow, gateway = slowly(house)
        receipts: list[Receipt] = []
        await deliver(gateway, receipts, times=MANY, slow=slow)
        assert Counter(receipt.verdict for receipt in receipts) == {Verdict.ACCEPTED: MANY}
        assert sum(receipt.turn is not None for receipt in receipts) == 1
        assert slow.asked == 1
        assert await house.channel.has_sent(1) == ["hi"]


@pytest.mark.requirement("ingress.dedupe.released_on_failed_dispatch")
async def test_when_the_first_cannot_be_stored_none_is_acknowledged_and_a_retry_is_fresh() -> None:
    async with running(build(ScriptedModel([says("hi")]))) as house:
        slow, gateway = slowly(house)
        slow.broken = True
        receipts: list[Receipt] = []
        await deliver(gateway, receipts, times=100, slow=slow)
        assert {receipt.verdict for receipt in receipts} == {Verdict.UNAVAILABLE}
        slow.broken = False
        (again,) = await gateway.accept([Offered(message=raw("hello"))], WEBHOOK)
        assert again.verdict is Verdict.ACCEPTED
        assert await house.channel.has_sent(1) == ["hi"]


@pytest.mark.requirement("ingress.dedupe.atomic")
async def test_of_ten_thousand_checks_at_once_one_is_the_first() -> None:
    memory = WebhookMemory(StoppedClock())
    firsts: list[bool] = []

    async def check() -> None:
        await anyio.lowlevel.checkpoint()
        firsts.append(memory.check("slack:b", "k").first)

    async with anyio.create_task_group() as tasks:
        for _ in range(MANY):
            tasks.start_soon(check)
    assert Counter(firsts) == {True: 1, False: MANY - 1}


@pytest.mark.requirement("ingress.dedupe.ledger_key")
@pytest.mark.parametrize("home", HOMES)
async def test_of_ten_thousand_admissions_of_one_key_at_once_one_makes_a_row(
    home: str, tmp_path: Path
) -> None:
    results: list[AdmitResult] = []
    with HOMES[home](tmp_path) as harness:
        async with harness.open() as ledger:
            await ledger.ownership.take(instance="a process", boot="boot")

            async def admit() -> None:
                results.extend(await ledger.admissions.admit([asking(written("1"))] * AT_A_TIME))

            with anyio.fail_after(60):
                async with anyio.create_task_group() as tasks:
                    for _ in range(MANY // AT_A_TIME):
                        tasks.start_soon(admit)
            assert (await ledger.queue.counts()).waiting == 1
    kinds = Counter(type(result) for result in results)
    assert kinds == {Accepted: 1, Duplicate: MANY - 1}

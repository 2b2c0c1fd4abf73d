"""The in-memory ledger dies as its words say, and time and ids in tests do what they are told."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from fermix.application.ports.admissions import CommandEffect, Say
from fermix.application.ports.ledger_errors import LedgerUnavailable, OwnerLost
from fermix.domain.delivery import Part
from fermix.testing.clock import START, CountedIds, StoppedClock
from fermix.testing.memory_ledger import MemoryLedger
from fermix.testing.samples import REMOTE, asking, commanding, written

pytestmark = pytest.mark.anyio

SERVED = frozenset({REMOTE})
SECOND = timedelta(seconds=1)


async def a_ledger_with_three_claims() -> MemoryLedger:
    ledger = MemoryLedger(clock=StoppedClock(), ids=CountedIds())
    await ledger.ownership.take(instance="first", boot="boot")
    await ledger.admissions.admit([asking(written(str(i), chat=str(i))) for i in range(3)])
    for _ in range(3):
        await ledger.turns.claim(limit=1, channels=SERVED)
    return ledger


async def test_a_kill_keeps_every_finished_commit() -> None:
    ledger = await a_ledger_with_three_claims()
    ledger.kill()
    assert (await ledger.reopened().queue.counts()).running == 3


@pytest.mark.parametrize("keep", [0, 1, 2, 3, 9])
async def test_a_power_cut_keeps_the_oldest_lazy_commits(keep: int) -> None:
    ledger = await a_ledger_with_three_claims()
    assert ledger.disk.unsynced == 3
    ledger.power_cut(keep=keep)
    counts = await ledger.reopened().queue.counts()
    assert (counts.running, counts.waiting) == (min(keep, 3), 3 - min(keep, 3))
    assert ledger.disk.unsynced == 0


async def test_a_durable_commit_syncs_the_lazy_ones_before_it() -> None:
    ledger = await a_ledger_with_three_claims()
    await ledger.admissions.admit([asking(written("more"))])
    ledger.power_cut()
    assert (await ledger.reopened().queue.counts()).running == 3


async def test_a_power_cut_keeps_no_negative_number() -> None:
    ledger = await a_ledger_with_three_claims()
    with pytest.raises(ValueError, match="negative"):
        ledger.power_cut(keep=-1)


async def test_a_dead_ledger_refuses_everything() -> None:
    ledger = await a_ledger_with_three_claims()
    ledger.kill()
    for call in (
        lambda: ledger.admissions.admit([]),
        ledger.queue.counts,
        lambda: ledger.ownership.take(instance="again", boot="boot"),
    ):
        with pytest.raises(LedgerUnavailable):
            await call()


async def test_the_next_process_must_take_the_home_and_the_last_one_loses_it() -> None:
    ledger = await a_ledger_with_three_claims()
    following = ledger.reopened()
    with pytest.raises(LedgerUnavailable):
        await following.admissions.admit([])
    await following.ownership.take(instance="second", boot="boot")
    with pytest.raises(OwnerLost):
        await ledger.admissions.admit([])
    await following.admissions.admit([])


def breaks(effect: CommandEffect) -> Sequence[Part]:
    raise RuntimeError("broken")


async def test_a_list_that_cannot_be_finished_changes_nothing() -> None:
    ledger = await a_ledger_with_three_claims()
    with pytest.raises(RuntimeError, match="broken"):
        await ledger.admissions.admit(
            [asking(written("new")), commanding(written("command"), Say(), reply=breaks)]
        )
    assert await ledger.queue.find(origin="telegram:bot", key="new") is None


async def test_a_cancelled_call_is_finished() -> None:
    ledger = await a_ledger_with_three_claims()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ledger.admissions.admit([asking(written("new"))])
    assert await ledger.queue.find(origin="telegram:bot", key="new") is not None


async def test_sleepers_wake_in_the_order_of_their_instants() -> None:
    clock = StoppedClock()
    woken: list[int] = []

    async def sleep(seconds: int) -> None:
        await clock.sleep_until(START + seconds * SECOND)
        woken.append(seconds)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for seconds in (3, 1, 2, 9):
                tasks.start_soon(sleep, seconds)
            await wait_all_tasks_blocked()
            assert (clock.sleepers, woken) == (4, [])
            clock.advance(SECOND)
            await wait_all_tasks_blocked()
            assert woken == [1]
            clock.advance(2 * SECOND)
            await wait_all_tasks_blocked()
            assert sorted(woken) == [1, 2, 3]
            tasks.cancel_scope.cancel()
    assert clock.sleepers == 0
    assert clock.monotonic() == 3.0


async def test_a_time_that_has_come_is_not_waited_for() -> None:
    clock = StoppedClock()
    with anyio.fail_after(5):
        await clock.sleep_until(START)
        await clock.sleep_until(START - SECOND)
    await checkpoint()


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="back"):
        StoppedClock().advance(-SECOND)


def test_counted_ids_are_uuids_and_differ() -> None:
    ids = CountedIds()
    made = [ids.new() for _ in range(100)]
    assert len({UUID(text) for text in made}) == 100
    assert CountedIds().new() == made[0]

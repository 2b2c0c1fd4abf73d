"""The writing thread: shared commits, their order and levels, and what each kind of failure does to whom."""

import math
from functools import partial
from pathlib import Path

import anyio
import apsw
import pytest
from anyio import CancelScope, Event, create_task_group, fail_after
from anyio.lowlevel import checkpoint, current_token

from fermix.application.ports.admissions import Accepted, AdmitResult, Duplicate, Input
from fermix.application.ports.ledger_errors import (
    LedgerBroken,
    LedgerError,
    LedgerFull,
    LedgerUnavailable,
    OwnerLost,
    StaleTurn,
)
from fermix.application.ports.outbox import Sent
from fermix.application.ports.turns import EffectIntent
from fermix.domain.ids import Epoch, Generation, TurnId
from fermix.domain.lane import QueueLimits
from fermix.domain.recovery import Repeat
from fermix.infrastructure.persistence.sqlite.admissions import SqliteAdmissions
from fermix.infrastructure.persistence.sqlite.calls import CallQueue
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from fermix.infrastructure.persistence.sqlite.transaction import Rows, Transaction
from tests.integration.ledger.disks import a_disk
from tests.integration.ledger.kit import (
    SERVED,
    a_ledger,
    a_writer,
    admit_one,
    an_owned_ledger,
    answer,
    ask_file,
    claim_one,
    says,
    take,
)

pytestmark = pytest.mark.anyio


async def test_rows_stand_in_the_order_the_calls_were_made(path: Path) -> None:
    rows: dict[str, int] = {}

    async def admit(ledger: SqliteLedger, key: str) -> None:
        rows[key] = (await admit_one(ledger, says(key, chat=key))).row

    async with an_owned_ledger(path) as ledger, create_task_group() as tasks:
        for number in range(300):
            tasks.start_soon(admit, ledger, str(number))
    called_in_order = ask_file(path, "SELECT key FROM messages ORDER BY message")
    assert len(called_in_order) == 300
    assert all(rows[key] == place for place, (key,) in enumerate(called_in_order, 1))


async def test_calls_that_wait_share_commits(path: Path) -> None:
    with a_disk() as disk:
        async with an_owned_ledger(path) as ledger:
            before = disk.syncs
            async with create_task_group() as tasks:
                for number in range(200):
                    tasks.start_soon(admit_one, ledger, says(str(number), chat=str(number)))
            shared = disk.syncs - before
    assert shared < 40


async def test_a_message_alone_costs_little_more_than_two_syncs(path: Path) -> None:
    messages = 300
    with a_disk() as disk:
        async with an_owned_ledger(path) as ledger:
            await _one_life(ledger, "first")
            before = disk.syncs
            for number in range(messages):
                await _one_life(ledger, str(number))
            syncs = disk.syncs - before
    assert syncs / messages <= 2.1


async def _one_life(ledger: SqliteLedger, key: str) -> None:
    await admit_one(ledger, says(key))
    claimed = await claim_one(ledger)
    (part,) = await ledger.turns.settle(answer(claimed, "an answer"))
    assert await ledger.outbox.done(part.part, Sent()) is None


async def test_ten_thousand_offers_of_one_key_give_one_row(path: Path) -> None:
    accepted: list[Accepted] = []
    duplicates: list[Duplicate] = []

    async def offer(ledger: SqliteLedger, times: int) -> None:
        for result in await ledger.admissions.admit([says("same")] * times):
            if isinstance(result, Accepted):
                accepted.append(result)
            elif isinstance(result, Duplicate):
                duplicates.append(result)

    async with an_owned_ledger(path) as ledger, create_task_group() as tasks:
        for _ in range(1000):
            tasks.start_soon(offer, ledger, 10)
    assert (len(accepted), len(duplicates)) == (1, 9999)
    assert {duplicate.row for duplicate in duplicates} == {accepted[0].row}
    assert ask_file(path, "SELECT count(*) FROM messages") == [(1,)]


async def test_a_cancelled_caller_does_not_take_its_call_back(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        results: list[AdmitResult] = []
        with CancelScope() as scope:
            scope.cancel()
            results += await ledger.admissions.admit([says("1")])
            await checkpoint()
        assert scope.cancelled_caught
        assert [type(result) for result in results] == [Accepted]
        assert (await ledger.queue.counts()).waiting == 1


async def test_too_many_waiting_calls_are_refused_at_once() -> None:
    queue: CallQueue[Rows] = CallQueue(token=current_token(), most=2)
    async with create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(queue.run, lambda _: None)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(LedgerUnavailable, match="2 calls wait"):
            await queue.run(lambda _: None)
        waiting = queue.take(10)
        await anyio.to_thread.run_sync(queue.hand_back, waiting)
    assert len(waiting) == 2


async def test_a_call_that_takes_the_home_shares_its_transaction_with_nobody() -> None:
    queue: CallQueue[Rows] = CallQueue(token=current_token())
    sizes: list[int] = []

    async def call(*, exclusive: bool) -> None:
        await queue.run(lambda _: None, exclusive=exclusive)

    def serve() -> None:
        while calls := queue.take(10):
            sizes.append(len(calls))
            queue.hand_back(calls)

    async with create_task_group() as tasks:
        for exclusive in (False, False, True, False):
            tasks.start_soon(partial(call, exclusive=exclusive))
            await anyio.wait_all_tasks_blocked()
        queue.close()
        await anyio.to_thread.run_sync(serve)
    assert sizes == [2, 1, 1]


async def test_a_refused_call_leaves_its_neighbours_alone(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("0"))
        claimed = await claim_one(ledger)
        effect = EffectIntent(
            turn=claimed.turn,
            generation=claimed.generation,
            step=0,
            name="write",
            repeat=Repeat.UNSAFE,
            intent="{}",
        )
        await ledger.turns.begin_effect(effect)
        outcomes: list[str] = []

        async def again() -> None:
            with pytest.raises(LedgerError, match="a rule of the ledger"):
                await ledger.turns.begin_effect(effect)
            outcomes.append("refused")

        async def stale() -> None:
            with pytest.raises(StaleTurn):
                await ledger.turns.release(TurnId(99), generation=Generation(1))
            outcomes.append("stale")

        async def admit(key: str) -> None:
            await admit_one(ledger, says(key))
            outcomes.append("accepted")

        async with create_task_group() as tasks:
            tasks.start_soon(admit, "1")
            tasks.start_soon(again)
            tasks.start_soon(stale)
            tasks.start_soon(admit, "2")
        assert sorted(outcomes) == ["accepted", "accepted", "refused", "stale"]
        assert (await ledger.queue.counts()).waiting == 2


async def test_a_newer_owner_shuts_the_older_one_out(path: Path) -> None:
    async with an_owned_ledger(path) as older, a_ledger(path) as newer:
        await admit_one(older, says("1"))
        assert (await take(newer)).epoch == 2
        with pytest.raises(OwnerLost):
            await admit_one(older, says("2"))
        with pytest.raises(OwnerLost):
            await older.turns.claim(limit=1, channels=SERVED)
        await admit_one(newer, says("2"))
    assert ask_file(path, "SELECT key, epoch FROM messages") == [("1", 1), ("2", 2)]


@pytest.mark.requirement("disk_full.no_acknowledgement")
async def test_a_full_disk_refuses_everything_until_space_returns(path: Path) -> None:
    def allow(connection: apsw.Connection, pages: int) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}").fetchall()

    async with a_writer(path) as (writer, connection):
        admissions = SqliteAdmissions(writer=writer, limits=QueueLimits(total=2))
        both: list[Input] = [says("small"), says("big", "x" * 100_000)]
        await anyio.to_thread.run_sync(allow, connection, connection.pragma("page_count") + 2)
        with pytest.raises(LedgerFull):
            await admissions.admit(both)
        await anyio.to_thread.run_sync(allow, connection, 100_000)
        results = await admissions.admit(both)
    assert [result.row for result in results if isinstance(result, Accepted)] == [1, 2]


async def test_a_disk_that_fills_up_under_a_commit_refuses_it_and_goes_on_later(path: Path) -> None:
    with a_disk() as disk:
        async with an_owned_ledger(path) as ledger:
            disk.is_full = True
            for _ in range(2):
                with pytest.raises(LedgerFull):
                    await admit_one(ledger, says("1"))
            disk.is_full = False
            await admit_one(ledger, says("1"))
    assert ask_file(path, "SELECT message, key FROM messages") == [(1, "1")]


async def test_a_list_with_an_impossible_message_is_refused_whole(path: Path) -> None:
    async with an_owned_ledger(path, limits=QueueLimits(total=1)) as ledger:
        with pytest.raises(UnicodeEncodeError):
            await ledger.admissions.admit([says("1"), says("half a pair: \ud83d")])
        await admit_one(ledger, says("1"))
    assert ask_file(path, "SELECT key FROM messages") == [("1",)]


@pytest.mark.requirement("io_error.ends_the_process")
async def test_a_sync_that_fails_breaks_the_ledger_for_good(path: Path) -> None:
    told = Event()
    with a_disk() as disk:
        async with a_ledger(path, on_broken=told.set) as ledger:
            await take(ledger)
            await admit_one(ledger, says("1"))
            disk.refuses_syncs = True
            with pytest.raises(LedgerBroken, match="unknown"):
                await admit_one(ledger, says("2"))
            assert told.is_set()
            disk.refuses_syncs = False
            syncs = disk.syncs
            with pytest.raises(LedgerBroken):
                await admit_one(ledger, says("3"))
            with pytest.raises(LedgerBroken):
                await ledger.turns.claim(limit=1, channels=SERVED)
        assert disk.syncs == syncs
    async with an_owned_ledger(path) as ledger:
        assert await ledger.queue.find(origin="telegram:bot", key="1") is not None
        assert await ledger.queue.find(origin="telegram:bot", key="3") is None


@pytest.mark.requirement("io_error.ends_the_process")
async def test_everybody_who_shared_the_failed_commit_hears_of_it(path: Path) -> None:
    broken: list[str] = []

    async def admit(ledger: SqliteLedger, key: str) -> None:
        try:
            await admit_one(ledger, says(key))
        except LedgerBroken:
            broken.append(key)

    with a_disk() as disk:
        async with an_owned_ledger(path) as ledger:
            disk.refuses_syncs = True
            with fail_after(5):
                async with create_task_group() as tasks:
                    for number in range(20):
                        tasks.start_soon(admit, ledger, str(number))
    assert len(broken) == 20


async def test_a_body_that_needs_a_sync_is_run_again_with_one(path: Path) -> None:
    seen: list[bool] = []

    def body(tx: Transaction) -> int:
        seen.append(tx.durable)
        tx.run("UPDATE runtime SET clean=clean+1")
        tx.require_sync()
        clean: int = tx.value("SELECT clean FROM runtime")
        return clean

    async with a_writer(path) as (writer, _):
        assert await writer.do(body, durable=False) == 1
    assert seen == [False, True]


async def test_a_mistake_in_a_body_reaches_its_caller_and_writes_nothing(path: Path) -> None:
    def wrong(tx: Transaction) -> float:
        tx.run("UPDATE runtime SET clean=1")
        return 1 / math.floor(0.5)

    def misspelt(tx: Transaction) -> int:
        return tx.run("UPDATE no_such_table SET x=1")

    async with a_writer(path) as (writer, _):
        with pytest.raises(ZeroDivisionError):
            await writer.do(wrong, durable=True)
        with pytest.raises(apsw.SQLError):
            await writer.do(misspelt, durable=True)
        assert await writer.do(lambda tx: tx.value("SELECT clean FROM runtime"), durable=False) == 0


async def test_the_first_owner_is_told_from_later_ones_and_a_reboot_from_a_restart(path: Path) -> None:
    async with a_ledger(path) as ledger:
        first = await take(ledger, boot="a")
        assert (first.epoch, first.first, first.clean, first.rebooted) == (Epoch(1), True, True, False)
    async with a_ledger(path) as ledger:
        after_death = await take(ledger, boot="a")
        assert (after_death.first, after_death.clean, after_death.rebooted) == (False, False, False)
        await ledger.ownership.leave()
    async with a_ledger(path) as ledger:
        after_reboot = await take(ledger, boot="b")
        assert (after_reboot.epoch, after_reboot.clean, after_reboot.rebooted) == (Epoch(3), True, True)

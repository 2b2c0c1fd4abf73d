"""Checks of ownership: one owner, fencing, sweeping, and reading."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from fermix.application.ports.admissions import Duplicate, NothingToResolve, RetryTurn
from fermix.application.ports.conversations import QueueCounts
from fermix.application.ports.ledger_errors import LedgerUnavailable, OwnerLost
from fermix.application.ports.outbox import Sent
from fermix.application.ports.ownership import PausedTurn, Retention
from fermix.domain.history import AssistantEntry
from fermix.domain.recovery import Repeat
from fermix.domain.turn import TurnState
from fermix.testing.expectations import must_be, must_equal, must_refuse
from fermix.testing.ledger_checks.check import (
    SERVED,
    LedgerCheck,
    admit,
    ask,
    asked_and_claimed,
    claim_all,
    claim_one,
    deliver,
    effect,
    owned,
    proves,
    remembered,
)
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.samples import answering, asking, commanding, failing, written

DAY = timedelta(days=1)


@proves()
async def taking_the_home_tells_how_it_was_left(harness: LedgerHarness) -> None:
    """The epoch goes up with every owner, who learns whether the last one left in order and in this boot."""
    async with harness.open() as ledger:
        first = await ledger.ownership.take(instance="a", boot="one")
        must_equal((first.first, first.rebooted), (True, False), "the first owner")
        await ledger.ownership.leave()
    async with harness.open() as ledger:
        second = await ledger.ownership.take(instance="b", boot="one")
        must_equal((second.first, second.clean, second.rebooted), (False, True, False), "after a clean end")
        await harness.kill()
    async with harness.open() as ledger:
        third = await ledger.ownership.take(instance="c", boot="two")
        must_equal((third.first, third.clean, third.rebooted), (False, False, True), "after a power cut")
    must_equal(first.epoch < second.epoch < third.epoch, True, "epochs that go up")


@proves()
async def nothing_is_written_before_the_home_is_taken(harness: LedgerHarness) -> None:
    """A process that has not taken the home is refused."""
    async with harness.open() as ledger:
        with must_refuse(LedgerUnavailable, "admitting without the home"):
            await ledger.admissions.admit([asking(written("1"))])
    async with owned(harness) as ledger:
        must_equal((await ledger.queue.counts()).waiting, 0, "messages that wait")


@proves("recovery.late_settlement_is_refused")
async def an_older_owner_can_write_nothing(harness: LedgerHarness) -> None:
    """Once another process has taken the home, everything the older one writes is refused."""
    async with owned(harness) as old:
        claimed = await asked_and_claimed(old)
        turn, generation = claimed.turn, claimed.generation
        async with owned(harness) as new:
            paused = PausedTurn(turn=turn, lane=claimed.lane, generation=generation)
            edited = written("edit", edited_at=harness.clock.now())
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                "admit": lambda: old.admissions.admit([asking(written("2"))]),
                "amend": lambda: old.admissions.amend(edited, key="1"),
                "claim": lambda: old.turns.claim(limit=1, channels=SERVED),
                "begin_effect": lambda: old.turns.begin_effect(effect(claimed, Repeat.UNSAFE)),
                "settle": lambda: old.turns.settle(answering(claimed, "late")),
                "release": lambda: old.turns.release(turn, generation=generation),
                "cancel": lambda: old.turns.cancel(turn),
                "due": lambda: old.outbox.due(channels=SERVED, limit=1),
                "recover": lambda: old.ownership.recover(channels=SERVED),
                "discard": lambda: old.ownership.discard(paused),
                "leave": old.ownership.leave,
            }
            for about, call in calls.items():
                with must_refuse(OwnerLost, f"{about} by an older owner"):
                    await call()
            recovered = await new.ownership.recover(channels=SERVED)
            must_equal(recovered.replayed, (turn,), "what the new owner finds")
            must_equal(await remembered(new), (), "history")


@proves("retention.kept_for_unknown_and_failed")
async def payloads_go_after_their_time(harness: LedgerHarness) -> None:
    """A failed turn can be run again until its payload was swept, and its key is remembered longer."""
    async with owned(harness) as ledger:
        failed = await asked_and_claimed(ledger, "1")
        await deliver(ledger, await ledger.turns.settle(failing(failed)))
        retention = Retention(sent_parts=DAY, bodies=2 * DAY, keys=4 * DAY)
        harness.clock.advance(2 * DAY)
        await ledger.ownership.sweep(retention)
        harness.clock.advance(DAY)
        await ledger.ownership.sweep(retention)
        done = await admit(ledger, commanding(written("2", "/retry"), RetryTurn(turn=failed.turn)))
        must_equal(done.effect, NothingToResolve(), "retrying what was swept")
        must_be((await ledger.admissions.admit([asking(written("1"))]))[0], Duplicate, "the key")


@proves("retention.keys")
async def keys_go_after_their_time_and_history_stays(harness: LedgerHarness) -> None:
    """Swept keys are new again; history stays, and what is not over is never swept."""
    async with owned(harness) as ledger:
        await deliver(ledger, await ledger.turns.settle(answering(await asked_and_claimed(ledger), "answer")))
        await ask(ledger, "2", chat="8")
        waiting = await ledger.turns.settle(answering(await claim_one(ledger), "not delivered"))
        await ask(ledger, "3", chat="9")
        harness.clock.advance(5 * DAY)
        retention = Retention(sent_parts=DAY, bodies=DAY, keys=4 * DAY)
        must_equal(await ledger.ownership.sweep(retention) > 0, True, "rows that went")
        must_equal(await ledger.ownership.sweep(retention), 0, "rows that go again")
        must_equal((await remembered(ledger))[-1], AssistantEntry(text="answer"), "the history")
        await ask(ledger, "1")
        must_be((await ledger.admissions.admit([asking(written("3", chat="9"))]))[0], Duplicate, "what waits")
        must_equal(await ledger.outbox.done(waiting[0].part, Sent()), None, "what follows the open part")
        must_equal(len(await claim_all(ledger)), 2, "what runs")


@proves()
async def a_sweep_is_bounded(harness: LedgerHarness) -> None:
    """A sweep removes no more rows than asked for, and the next one goes on."""
    async with owned(harness) as ledger:
        for number in range(5):
            claimed = await asked_and_claimed(ledger, str(number))
            await deliver(ledger, await ledger.turns.settle(answering(claimed, "answer")))
        harness.clock.advance(60 * DAY)
        went = [await ledger.ownership.sweep(Retention(), limit=3) for _ in range(8)]
        must_equal(max(went) <= 3, True, "rows in one sweep")
        must_equal(went[-1], 0, "rows in the last sweep")
        must_equal(await ledger.queue.find(origin="telegram:bot", key="0"), None, "an old key")


@proves()
async def history_gives_its_newest_lines(harness: LedgerHarness) -> None:
    """A limit keeps the newest entries, oldest first."""
    async with owned(harness) as ledger:
        for number in range(3):
            claimed = await asked_and_claimed(ledger, str(number))
            await deliver(ledger, await ledger.turns.settle(answering(claimed, f"answer {number}")))
        newest = [entry.text for entry in await remembered(ledger, limit=3)]
        must_equal(newest, ["answer 1", "asked 2", "answer 2"], "the newest three")


@proves()
async def the_queue_is_told_as_it_stands(harness: LedgerHarness) -> None:
    """Counts, summaries and statuses say what waits, runs and is open."""
    async with owned(harness) as ledger:
        running = await asked_and_claimed(ledger, "1", chat="7")
        await ask(ledger, "2", chat="7")
        harness.clock.advance(timedelta(seconds=1))
        await ledger.turns.settle(answering(await asked_and_claimed(ledger, "3", chat="8"), "answer"))
        expected = QueueCounts(waiting=1, running=1, paused=0, lanes=1, open_parts=1)
        must_equal(await ledger.queue.counts(), expected, "counts")
        newest, oldest = await ledger.conversations.summaries()
        must_equal(
            (newest.route.chat, newest.active, newest.waiting), ("8", None, 0), "the newest conversation"
        )
        must_equal(newest.last_at, harness.clock.now(), "when its last message came")
        must_equal(
            (oldest.lane, oldest.active, oldest.waiting), (running.lane, TurnState.STARTED, 1), "the other"
        )
        must_equal(len(await ledger.conversations.summaries(limit=1)), 1, "conversations asked for")


CHECKS: tuple[LedgerCheck, ...] = (
    taking_the_home_tells_how_it_was_left,
    nothing_is_written_before_the_home_is_taken,
    an_older_owner_can_write_nothing,
    payloads_go_after_their_time,
    keys_go_after_their_time_and_history_stays,
    a_sweep_is_bounded,
    history_gives_its_newest_lines,
    the_queue_is_told_as_it_stands,
)

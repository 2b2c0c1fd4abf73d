"""What is done with goes when it is old enough, bounded, and never what somebody still waits for."""

from datetime import timedelta
from pathlib import Path

import pytest

from fermix.application.ports.admissions import Context, NothingToResolve, RetryTurn, Say
from fermix.application.ports.outbox import Sent
from fermix.application.ports.ownership import Retention
from fermix.application.ports.turns import EffectIntent
from fermix.domain.authorization import Trust
from fermix.domain.delivery import TextPart
from fermix.domain.history import UserEntry
from fermix.domain.recovery import Repeat
from fermix.domain.route import route_of
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from tests.integration.ledger.kit import (
    SERVED,
    StoppedClock,
    admit_one,
    an_owned_ledger,
    answer,
    ask_file,
    claim_one,
    commands,
    failure,
    message,
    says,
)

pytestmark = pytest.mark.anyio

KEEP = Retention()
WEEK = timedelta(days=7, seconds=1)
MONTH = timedelta(days=30, seconds=1)


async def answered(ledger: SqliteLedger, key: str) -> None:
    await admit_one(ledger, says(key))
    (part,) = await ledger.turns.settle(answer(await claim_one(ledger), "reply"))
    await ledger.outbox.done(part.part, Sent())


def count(path: Path, table: str) -> int:
    return int(ask_file(path, f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608  names of ours


async def test_nothing_young_goes(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await answered(ledger, "1")
        clock.advance(timedelta(days=6))
        assert await ledger.ownership.sweep(KEEP) == 0


@pytest.mark.requirement("retention.sent_parts", "retention.keys")
async def test_sent_parts_go_after_a_week_and_keys_after_a_month_but_history_stays(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await answered(ledger, "1")
        await admit_one(ledger, says("2", chat="8"))
        clock.advance(WEEK)
        assert await ledger.ownership.sweep(KEEP) == 1
        assert (count(path, "outbox"), count(path, "messages")) == (0, 2)
        clock.advance(MONTH)
        assert await ledger.ownership.sweep(KEEP) == 1
        assert await ledger.ownership.sweep(KEEP) == 0
        lane = await ledger.conversations.lane_of(says("1").route)
        assert lane is not None
        assert (await ledger.conversations.history(lane, window=0))[0] == UserEntry(text="hello")
        assert (await claim_one(ledger)).messages[0].message.key == "2"
    assert ask_file(path, "SELECT key FROM messages") == [("2",)]
    assert count(path, "turns") == 1


async def test_open_parts_and_their_turns_stay(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await admit_one(ledger, says("1"))
        (part,) = await ledger.turns.settle(answer(await claim_one(ledger), "reply"))
        clock.advance(2 * MONTH)
        await ledger.ownership.sweep(KEEP)
        assert (count(path, "turns"), count(path, "outbox")) == (1, 1)
        await ledger.outbox.done(part.part, Sent())
        await ledger.ownership.sweep(KEEP)
        await ledger.ownership.sweep(KEEP)
    assert (count(path, "messages"), count(path, "turns"), count(path, "outbox")) == (0, 0, 0)


async def test_what_a_turn_sent_stays_as_long_as_its_end_is_unknown(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        effect = EffectIntent(
            turn=claimed.turn,
            generation=claimed.generation,
            step=0,
            name="send_attachment",
            repeat=Repeat.UNSAFE,
            intent="{}",
            part=TextPart(text="a file"),
            target=claimed.messages[0].target,
        )
        part = await ledger.turns.begin_effect(effect)
        assert part is not None
        await ledger.outbox.done(part.part, Sent())
    async with an_owned_ledger(path, clock=clock) as ledger:
        (notice,) = (await ledger.ownership.recover(channels=SERVED)).parts
        await ledger.outbox.done(notice.part, Sent())
        clock.advance(2 * MONTH)
        await ledger.ownership.sweep(KEEP)
        assert len(await ledger.queue.paused()) == 1
    assert ask_file(path, "SELECT count(body), (SELECT count(*) FROM outbox) FROM messages") == [(0, 1)]


@pytest.mark.requirement("retention.kept_for_unknown_and_failed")
async def test_the_payload_of_a_failed_turn_goes_a_week_after_it_failed(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await admit_one(ledger, says("1"))
        clock.advance(timedelta(days=5))
        failed = await claim_one(ledger)
        (part,) = await ledger.turns.settle(failure(failed))
        await ledger.outbox.done(part.part, Sent())
        clock.advance(timedelta(days=5))
        assert await ledger.ownership.sweep(KEEP) == 0
        clock.advance(timedelta(days=2, seconds=1))
        await ledger.ownership.sweep(KEEP)
        assert (
            await admit_one(ledger, commands("r", RetryTurn(turn=failed.turn)))
        ).effect == NothingToResolve()


async def test_remembered_messages_and_commands_go_too(path: Path) -> None:
    clock = StoppedClock()
    said = message("1")
    async with an_owned_ledger(path, clock=clock) as ledger:
        await ledger.admissions.admit([Context(message=said, route=route_of(said), trust=Trust.GUEST)])
        (part,) = (await admit_one(ledger, commands("2", Say()))).parts
        await ledger.outbox.done(part.part, Sent())
        clock.advance(WEEK)
        assert await ledger.ownership.sweep(KEEP) == 2
        clock.advance(MONTH)
        assert await ledger.ownership.sweep(KEEP) == 2
    assert count(path, "messages") == 0


async def test_a_sweep_removes_no_more_than_its_limit(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        for number in range(5):
            await answered(ledger, str(number))
        clock.advance(2 * MONTH)
        swept = [await ledger.ownership.sweep(KEEP, limit=3) for _ in range(5)]
    assert swept == [3, 3, 3, 1, 0]
    assert (count(path, "messages"), count(path, "turns"), count(path, "outbox")) == (0, 0, 0)


async def test_a_turn_whose_messages_moved_to_a_retry_goes_as_well(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await admit_one(ledger, says("1"))
        failed = await claim_one(ledger)
        (part,) = await ledger.turns.settle(failure(failed))
        await ledger.outbox.done(part.part, Sent())
        await admit_one(ledger, commands("r", RetryTurn(turn=failed.turn), chat="8"))
        clock.advance(WEEK)
        await ledger.ownership.sweep(KEEP)
        await ledger.ownership.sweep(KEEP)
        assert (await claim_one(ledger)).messages[0].message.key == "1"
    assert count(path, "turns") == 1

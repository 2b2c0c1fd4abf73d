"""The way out: one part of a target on its way at a time, in order, through retries and withdrawals."""

from datetime import timedelta
from pathlib import Path

import pytest

from fermix.application.ports.admissions import Say, StopEverything
from fermix.application.ports.outbox import NotDelivered, SendingPart, Sent
from fermix.domain.delivery import RetryAt, TextPart
from fermix.domain.ids import PlatformMessageId
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from tests.integration.ledger.disks import a_disk
from tests.integration.ledger.kit import (
    CLI,
    SERVED,
    START,
    StoppedClock,
    admit_one,
    an_owned_ledger,
    answer,
    ask_file,
    claim_one,
    commands,
    says,
)

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)


async def replied(ledger: SqliteLedger, key: str, *texts: str, chat: str = "7") -> tuple[SendingPart, ...]:
    await admit_one(ledger, says(key, chat=chat))
    return await ledger.turns.settle(answer(await claim_one(ledger), *texts))


def text_of(part: SendingPart | None) -> str | None:
    return part.body.text if part is not None and isinstance(part.body, TextPart) else None


@pytest.mark.requirement("deliver.in_order", "deliver.waits_for_the_older_part")
async def test_parts_leave_one_after_another_across_turns(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        (first,) = await replied(ledger, "1", "a", "b")
        assert await replied(ledger, "2", "c") == ()
        second = await ledger.outbox.done(first.part, Sent(platform_id=PlatformMessageId("p1")))
        assert second is not None
        third = await ledger.outbox.done(second.part, NotDelivered(error="refused"))
        assert third is not None
        assert await ledger.outbox.done(third.part, Sent()) is None
    assert [text_of(part) for part in (first, second, third)] == ["a", "b", "c"]
    assert ask_file(path, "SELECT state, platform_id, error FROM outbox") == [
        ("sent", "p1", None),
        ("failed", None, "refused"),
        ("sent", None, None),
    ]


async def test_targets_do_not_wait_for_each_other(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        assert len(await replied(ledger, "1", "a", chat="a")) == 1
        assert len(await replied(ledger, "2", "b", chat="b")) == 1


@pytest.mark.requirement("deliver.waits_for_the_older_part", "deliver.nonce_is_stable")
async def test_a_part_that_waits_for_its_retry_holds_the_younger_ones(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        (first,) = await replied(ledger, "1", "a", "b")
        clock.advance(SECOND)
        again_at = START + 3 * SECOND
        assert await ledger.outbox.done(first.part, RetryAt(when=again_at, counts=False)) is None
        assert await replied(ledger, "2", "c") == ()
        none_yet = await ledger.outbox.due(channels=SERVED, limit=9)
        clock.advance(2 * SECOND)
        (again,) = (await ledger.outbox.due(channels=SERVED, limit=9)).parts
        assert (await ledger.outbox.due(channels=SERVED, limit=9)).parts == ()
        following = await ledger.outbox.done(again.part, Sent())
    assert (none_yet.parts, none_yet.next_due) == ((), again_at)
    assert (again.part, again.nonce, again.attempts, again.repeated) == (first.part, first.nonce, 0, False)
    assert (again.created_at, again.tried_at) == (START, START)
    assert text_of(following) == "b"


async def test_a_try_that_counts_marks_the_part_as_possibly_repeated(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        (part,) = await replied(ledger, "1", "a")
        await ledger.outbox.done(part.part, RetryAt(when=START, counts=True))
        (part,) = (await ledger.outbox.due(channels=SERVED, limit=9)).parts
        await ledger.outbox.done(part.part, RetryAt(when=START, counts=False))
        (part,) = (await ledger.outbox.due(channels=SERVED, limit=9)).parts
    assert (part.attempts, part.repeated) == (1, True)


async def test_only_served_channels_and_no_more_than_asked_for_become_due(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        for chat in ("a", "b", "c"):
            (part,) = await replied(ledger, chat, chat, chat=chat)
            await ledger.outbox.done(part.part, RetryAt(when=START, counts=False))
        assert (await ledger.outbox.due(channels={CLI}, limit=9)).parts == ()
        two = await ledger.outbox.due(channels=SERVED, limit=2)
        one = await ledger.outbox.due(channels=SERVED, limit=2)
    assert [text_of(part) for part in (*two.parts, *one.parts)] == ["a", "b", "c"]
    assert (two.next_due, one.next_due) == (START, None)


async def test_the_end_of_a_part_is_noted_once(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        (part,) = await replied(ledger, "1", "a")
        await ledger.outbox.done(part.part, Sent())
        await ledger.outbox.done(part.part, NotDelivered(error="late"))
    assert ask_file(path, "SELECT state FROM outbox") == [("sent",)]


async def test_a_withdrawn_part_stays_withdrawn_and_what_a_command_said_still_leaves(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        (on_its_way,) = await replied(ledger, "1", "a", "b")
        said = await admit_one(ledger, commands("2", Say()))
        stopped = await admit_one(ledger, commands("3", StopEverything()))
        assert await ledger.outbox.done(on_its_way.part, Sent()) is None
        (now_leaving,) = stopped.parts
        following = await ledger.outbox.done(now_leaving.part, Sent())
    assert said.parts == ()
    assert [text_of(now_leaving), text_of(following)] == ["Said", "Stopped"]
    assert ask_file(path, "SELECT state FROM outbox WHERE turn IS NOT NULL") == [("withdrawn",)] * 2


async def test_what_waited_behind_a_withdrawn_part_leaves_when_that_has_ended(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        (on_its_way,) = await replied(ledger, "1", "a", "b")
        assert (await admit_one(ledger, commands("2", Say()))).parts == ()
        await admit_one(ledger, commands("3", StopEverything(), chat="8"))
        following = await ledger.outbox.done(on_its_way.part, Sent())
    assert text_of(following) == "Said"
    assert ask_file(path, "SELECT state FROM outbox WHERE turn IS NOT NULL") == [("withdrawn",)] * 2


async def test_an_end_is_synced_only_when_another_part_starts(path: Path) -> None:
    with a_disk() as disk:
        async with an_owned_ledger(path) as ledger:
            (first,) = await replied(ledger, "1", "a", "b")
            before = disk.syncs
            second = await ledger.outbox.done(first.part, Sent())
            with_another = disk.syncs - before
            assert second is not None
            await ledger.outbox.done(second.part, Sent())
            alone = disk.syncs - before - with_another
    assert (with_another, alone) == (1, 0)

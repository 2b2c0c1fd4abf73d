"""Checks of the way out: order, repeats, retries, parts sent in mid-turn."""

from datetime import timedelta

from fermix.application.ports.admissions import Say, StopEverything
from fermix.application.ports.outbox import NotDelivered, Sent
from fermix.domain.delivery import RetryAt
from fermix.domain.ids import PlatformMessageId
from fermix.domain.recovery import Repeat
from fermix.testing.expectations import PromiseBroken, must_equal
from fermix.testing.ledger_checks.check import (
    SERVED,
    LedgerCheck,
    admit,
    asked_and_claimed,
    claim_one,
    deliver,
    effect,
    owned,
    proves,
    recover,
    texts,
)
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.samples import LOCAL, answering, commanding, written

SECOND = timedelta(seconds=1)


@proves("deliver.in_order")
async def parts_leave_one_after_another(harness: LedgerHarness) -> None:
    """A reply's first part is handed out at settlement, each next one when the one before has ended."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        parts = await ledger.turns.settle(answering(claimed, "one", "two", "three"))
        must_equal(texts(parts), ["one"], "what leaves first")
        must_equal((await ledger.outbox.due(channels=SERVED, limit=9)).parts, (), "what leaves beside it")
        must_equal(await deliver(ledger, parts), ["one", "two", "three"], "the reply")
        must_equal((await ledger.queue.counts()).open_parts, 0, "parts not yet delivered")


@proves("deliver.waits_for_the_older_part")
async def a_target_has_one_part_on_its_way(harness: LedgerHarness) -> None:
    """Parts of a later turn or command wait for the older open part of their target; other targets do not."""
    async with owned(harness) as ledger:
        first = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "one"))
        second = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "2"), "two"))
        must_equal(second, (), "a younger reply to the same place")
        status = await admit(ledger, commanding(written("3", "/status"), Say()))
        must_equal((status.replies, status.parts), (1, ()), "a command's reply to the same place")
        other = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "4", chat="8"), "else"))
        must_equal(texts(other), ["else"], "a reply to another place")
        must_equal(await deliver(ledger, first), ["one", "two", "Said"], "the order of parts")


@proves("deliver.waits_for_the_older_part", "deliver.nonce_is_stable")
async def a_part_that_waits_holds_the_younger_ones(harness: LedgerHarness) -> None:
    """Until its retry is due, a part holds its target; then it is handed out again under its nonce."""
    async with owned(harness) as ledger:
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "one", "two"))
        when = harness.clock.now() + 2 * SECOND
        must_equal(
            await ledger.outbox.done(part.part, RetryAt(when=when, counts=False)), None, "what is next"
        )
        due = await ledger.outbox.due(channels=SERVED, limit=9)
        must_equal((due.parts, due.next_due), ((), when), "what is due before its time")
        harness.clock.advance(2 * SECOND)
        (again,) = (await ledger.outbox.due(channels=SERVED, limit=9)).parts
        must_equal((again.part, again.nonce), (part.part, part.nonce), "the part that is due")
        must_equal((again.repeated, again.attempts), (False, 0), "a part that never left")
        must_equal(again.tried_at, when - 2 * SECOND, "when its first try began")
        must_equal(await deliver(ledger, [again]), ["one", "two"], "the reply")


@proves()
async def a_try_that_may_have_left_counts(harness: LedgerHarness) -> None:
    """A counted try adds one and marks the part as a possible repeat."""
    async with owned(harness) as ledger:
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "one"))
        must_equal((part.repeated, part.attempts), (False, 0), "the first try")
        for attempts in (1, 2):
            await ledger.outbox.done(part.part, RetryAt(when=harness.clock.now(), counts=True))
            (part,) = (await ledger.outbox.due(channels=SERVED, limit=9)).parts
            must_equal((part.repeated, part.attempts), (True, attempts), "the next try")


@proves("deliver.nonce_is_stable")
async def only_what_was_on_its_way_is_marked(harness: LedgerHarness) -> None:
    """After a death the part that was on its way leaves once more, marked; the others leave once, unmarked."""
    async with owned(harness) as ledger:
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "one", "two"))
        await harness.cut_power()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal(recovered.repeated, 1, "parts that leave once more")
        (again,) = recovered.parts
        must_equal((again.part, again.nonce, again.repeated), (part.part, part.nonce, True), "the repeat")
        following = await ledger.outbox.done(again.part, Sent())
        must_equal(following is not None and following.repeated, False, "the part after it")
        must_equal(following is not None and following.body.text, "two", "the part after it")


@proves()
async def an_end_is_taken_once(harness: LedgerHarness) -> None:
    """Reporting the end of a part again changes nothing and hands nothing out twice."""
    async with owned(harness) as ledger:
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "one", "two"))
        following = await ledger.outbox.done(part.part, Sent())
        must_equal(following is not None, True, "the next part")
        must_equal(await ledger.outbox.done(part.part, Sent()), None, "the same end again")
        must_equal((await ledger.queue.counts()).open_parts, 1, "parts not yet delivered")


@proves()
async def a_failed_part_lets_the_next_one_leave(harness: LedgerHarness) -> None:
    """A part that is given up does not hold its target any longer."""
    async with owned(harness) as ledger:
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "one", "two"))
        following = await ledger.outbox.done(part.part, NotDelivered(error="refused"))
        if following is None:
            raise PromiseBroken("nothing follows a part that failed")
        must_equal(following.body.text, "two", "what follows")


@proves()
async def a_withdrawn_part_lets_what_follows_leave(harness: LedgerHarness) -> None:
    """What waited behind a part that was withdrawn while on its way leaves once that part has ended."""
    async with owned(harness) as ledger:
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "one", "two"))
        await admit(ledger, commanding(written("2", "/status"), Say()))
        stop = await admit(ledger, commanding(written("3", "/stop", chat="8"), StopEverything()))
        must_equal(texts(stop.parts), ["Stopped"], "the reply of the stop")
        following = await ledger.outbox.done(part.part, Sent())
        if following is None:
            raise PromiseBroken("the command's reply waits behind a withdrawn part for ever")
        must_equal(following.body.text, "Said", "what follows")


@proves()
async def only_due_parts_of_served_channels_leave(harness: LedgerHarness) -> None:
    """A process is handed parts of the channels it serves, oldest first, as many as it asked for."""
    async with owned(harness) as ledger:
        for chat in ("7", "8"):
            await ledger.turns.settle(answering(await asked_and_claimed(ledger, chat, chat=chat), chat))
        await harness.kill()
    async with owned(harness) as ledger:
        must_equal(
            (await ledger.ownership.recover(channels=frozenset({LOCAL}))).parts, (), "of other channels"
        )
        must_equal((await ledger.outbox.due(channels=frozenset({LOCAL}), limit=9)).parts, (), "of others")
        must_equal(texts((await recover(ledger)).parts), ["7", "8"], "of the served ones")


@proves("deliver.in_order")
async def a_clock_that_is_set_back_holds_no_reply(harness: LedgerHarness) -> None:
    """A part that was never tried leaves when its place comes, whatever became of the clock meanwhile."""
    async with owned(harness) as ledger:
        parts = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "one", "two"))
        harness.clock.set_back(timedelta(hours=1))
        must_equal(await deliver(ledger, parts), ["one", "two"], "what left")


@proves("effects.send_is_effect_and_part", "effects.reply_ordinals_follow")
async def a_part_sent_in_mid_turn_is_an_effect(harness: LedgerHarness) -> None:
    """Intent and part commit together, the part's end is the effect's outcome, the reply's parts follow it."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        part = await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT, shows="draft"))
        if part is None:
            raise PromiseBroken("a part sent in mid-turn was not handed out")
        await ledger.outbox.done(part.part, Sent(platform_id=PlatformMessageId("p1")))
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        again = await claim_one(ledger)
        must_equal(again.drafts, ("p1",), "the draft of the earlier claim")
        (reply,) = await ledger.turns.settle(answering(again, "answer"))
        must_equal((part.ordinal, reply.ordinal), (0, 1), "ordinals")


@proves()
async def a_harmless_part_leaves_nothing_behind_but_itself(harness: LedgerHarness) -> None:
    """What a repeat cannot double keeps no turn from running again, is no draft, and leaves like any part."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        for step, shown in enumerate(("early", "late")):
            part = await ledger.turns.begin_effect(effect(claimed, Repeat.HARMLESS, step=step, shows=shown))
            if step == 0 and part is not None:
                await ledger.outbox.done(part.part, Sent(platform_id=PlatformMessageId("p1")))
        await harness.kill()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal((len(recovered.replayed), recovered.repeated), (1, 1), "turns and parts that go on")
        must_equal(await deliver(ledger, recovered.parts), ["late"], "what was on its way")
        must_equal((await claim_one(ledger)).drafts, (), "drafts of the turn that runs again")


@proves("effects.send_is_effect_and_part")
async def a_part_in_mid_turn_waits_for_its_target(harness: LedgerHarness) -> None:
    """A part sent in mid-turn is committed and waits while an older one of its target is open."""
    async with owned(harness) as ledger:
        first = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "one"))
        claimed = await asked_and_claimed(ledger, "2")
        held = await ledger.turns.begin_effect(effect(claimed, Repeat.TEXT, shows="block"))
        must_equal(held, None, "what to send now")
        must_equal(await deliver(ledger, first), ["one", "block"], "the order of parts")


CHECKS: tuple[LedgerCheck, ...] = (
    parts_leave_one_after_another,
    a_target_has_one_part_on_its_way,
    a_part_that_waits_holds_the_younger_ones,
    a_try_that_may_have_left_counts,
    only_what_was_on_its_way_is_marked,
    an_end_is_taken_once,
    a_failed_part_lets_the_next_one_leave,
    a_withdrawn_part_lets_what_follows_leave,
    only_due_parts_of_served_channels_leave,
    a_clock_that_is_set_back_holds_no_reply,
    a_part_sent_in_mid_turn_is_an_effect,
    a_harmless_part_leaves_nothing_behind_but_itself,
    a_part_in_mid_turn_waits_for_its_target,
)

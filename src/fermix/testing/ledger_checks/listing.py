"""Checks of the queue line by line: what its owner reads of turns, failures and open replies."""

from datetime import timedelta

from fermix.application.ports.admissions import Discard, RetryTurn
from fermix.application.ports.conversations import QueueCounts
from fermix.application.ports.queue_listing import LeftOut, ListedTurn, OpenReplies, QueueListing
from fermix.domain.delivery import RetryAt
from fermix.domain.ids import TurnId
from fermix.domain.preview import PREVIEW_CHARACTERS
from fermix.domain.recovery import Repeat
from fermix.domain.route import Route
from fermix.domain.turn import TurnState
from fermix.testing.expectations import must_be, must_equal
from fermix.testing.ledger_checks.check import (
    LedgerCheck,
    admit,
    ask,
    asked_and_claimed,
    claim_one,
    effect,
    owned,
    proves,
    recover,
)
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.samples import LOCAL, answering, asking, commanding, failing, written

MINUTE = timedelta(minutes=1)


def shown(listing: QueueListing) -> list[tuple[str, str]]:
    """Each unsettled turn as its state and its preview."""
    return [(turn.state.value, turn.preview) for turn in listing.turns]


def failures(listing: QueueListing) -> list[str]:
    """The previews of the turns that can be run again."""
    return [turn.preview for turn in listing.failed]


def place(chat: str) -> Route:
    """The route of a chat of the suite."""
    message = written("any", chat=chat)
    return Route(channel=message.channel, account=message.account, chat=message.chat.id)


@proves()
async def an_empty_queue_has_no_lines(harness: LedgerHarness) -> None:
    """A home in which nothing waits lists nothing, and what is done with is not listed."""
    async with owned(harness) as ledger:
        must_equal(await ledger.queue.listing(), QueueListing(), "an empty queue")
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger), "answer"))
        await ledger.outbox.done(part.part, RetryAt(when=harness.clock.now(), counts=False))
        (again,) = (await ledger.outbox.due(channels=frozenset({part.target.channel}), limit=9)).parts
        must_equal((await ledger.queue.listing()).turns, (), "an answered turn")
        must_equal(again.part, part.part, "the part that is tried again")


@proves()
async def a_turn_is_listed_with_what_its_owner_needs(harness: LedgerHarness) -> None:
    """A turn is listed with its place, its state, its attempts, its time, and a glimpse of its texts."""
    async with owned(harness) as ledger:
        came = harness.clock.now()
        long = "one two\n\tthree " + "x" * 200
        album = await admit(ledger, asking(written("1", long, chat="9/9"), album="a"))
        harness.clock.advance(MINUTE)
        await admit(ledger, asking(written("2", "second", chat="9/9"), album="a"))
        listing = await ledger.queue.listing()
        expected = ListedTurn(
            turn=TurnId(must_be(album.turn, int, "the album's turn")),
            lane=album.lane,
            route=place("9/9"),
            state=TurnState.COLLECTING,
            left_behind=False,
            attempts=0,
            messages=2,
            asked_at=came,
            ended_at=None,
            preview="one two three " + "x" * (PREVIEW_CHARACTERS - 15) + "…",
        )
        must_equal(listing, QueueListing(turns=(expected,)), "the listing")
        await admit(ledger, asking(written("3", " \n", channel=LOCAL)))
        must_equal(shown(await ledger.queue.listing())[1:], [("queued", "")], "a message without text")


@proves("recovery.unknown_pauses_lane")
async def a_lost_turn_is_listed_before_what_runs_and_waits(harness: LedgerHarness) -> None:
    """Until recovery a started turn is listed as left behind, after it as unknown; such turns come first."""
    async with owned(harness) as ledger:
        await asked_and_claimed(ledger, "0", chat="6")
        lost = await asked_and_claimed(ledger, "1")
        await ledger.turns.begin_effect(effect(lost, Repeat.UNSAFE))
        await ask(ledger, "2")
        must_equal(
            shown(await ledger.queue.listing()),
            [("started", "asked 0"), ("started", "asked 1"), ("queued", "asked 2")],
            "before the death",
        )
        await harness.kill()
    async with owned(harness) as ledger:
        left = [(turn.turn, turn.left_behind) for turn in (await ledger.queue.listing()).turns]
        must_equal(
            [left_behind for _, left_behind in left], [True, True, False], "what a dead owner left behind"
        )
        await recover(ledger)
        paused, *others = (await ledger.queue.listing()).turns
        must_equal(
            (paused.turn, paused.state, paused.attempts), (lost.turn, TurnState.UNKNOWN, 1), "the head"
        )
        must_equal([turn.left_behind for turn in (paused, *others)], [False] * 3, "after recovery")
        must_equal([turn.state for turn in others], [TurnState.QUEUED] * 2, "the others")
        await admit(ledger, commanding(written("3", "/discard"), Discard()))
        must_equal(
            shown(await ledger.queue.listing()),
            [("queued", "asked 0"), ("queued", "asked 2")],
            "after the discard",
        )


@proves("retention.kept_for_unknown_and_failed")
async def a_failed_turn_is_listed_while_it_can_run_again(harness: LedgerHarness) -> None:
    """Failed turns are listed newest first, until they were retried or their texts are gone."""
    async with owned(harness) as ledger:
        first = await asked_and_claimed(ledger, "1")
        await ledger.turns.settle(failing(first))
        harness.clock.advance(MINUTE)
        second = await asked_and_claimed(ledger, "2", chat="8")
        await ledger.turns.settle(failing(second))
        listing = await ledger.queue.listing()
        must_equal(failures(listing), ["asked 2", "asked 1"], "failed turns")
        newest = listing.failed[0]
        must_equal(
            (newest.turn, newest.state, newest.ended_at),
            (second.turn, TurnState.SETTLED, harness.clock.now()),
            "the newest",
        )
        await admit(ledger, commanding(written("3", "/retry"), RetryTurn(turn=first.turn)))
        listing = await ledger.queue.listing()
        must_equal(failures(listing), ["asked 2"], "failed turns after a retry")
        must_equal(shown(listing), [("queued", "asked 1")], "what was retried")
        await ledger.turns.settle(answering(await claim_one(ledger), "answer"))
        must_equal(failures(await ledger.queue.listing()), ["asked 2"], "failed turns after its answer")


@proves()
async def replies_are_listed_by_target(harness: LedgerHarness) -> None:
    """Open parts are counted by target, with the time until which the oldest waits for its next try."""
    async with owned(harness) as ledger:
        began = harness.clock.now()
        (part,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "a", "b", "c"))
        harness.clock.advance(MINUTE)
        await ledger.turns.settle(answering(await asked_and_claimed(ledger, "2", chat="8"), "d"))
        other = OpenReplies(target=place("8"), parts=1, oldest_at=began + MINUTE, sending=True)
        sending = OpenReplies(target=place("7"), parts=3, oldest_at=began, sending=True)
        must_equal((await ledger.queue.listing()).replies, (sending, other), "open replies")
        later = harness.clock.now() + MINUTE
        await ledger.outbox.done(part.part, RetryAt(when=later, counts=True))
        waits = OpenReplies(target=place("7"), parts=3, oldest_at=began, sending=False, retry_at=later)
        must_equal((await ledger.queue.listing()).replies, (waits, other), "a reply that waits")


@proves()
async def a_listing_is_bounded_and_says_what_it_left_out(harness: LedgerHarness) -> None:
    """At most as many lines of each kind as asked for; the rest is counted."""
    async with owned(harness) as ledger:
        for number in range(3):
            chat = f"failed {number}"
            claimed = await asked_and_claimed(ledger, chat, chat=chat)
            await ledger.turns.settle(failing(claimed))
        await asked_and_claimed(ledger, "running")
        for number in range(3):
            await ask(ledger, f"waiting {number}", chat=f"waiting {number}")
        must_equal(
            await ledger.queue.counts(),
            QueueCounts(waiting=3, running=1, paused=0, lanes=4, open_parts=3),
            "counts",
        )
        listing = await ledger.queue.listing(limit=2)
        must_equal(shown(listing), [("started", "asked running"), ("queued", "asked waiting 0")], "turns")
        must_equal(failures(listing), ["asked failed 2", "asked failed 1"], "failed turns")
        must_equal([one.target.chat for one in listing.replies], ["failed 0", "failed 1"], "targets")
        must_equal(listing.left_out, LeftOut(turns=2, failed=1, targets=1), "what was left out")


CHECKS: tuple[LedgerCheck, ...] = (
    an_empty_queue_has_no_lines,
    a_turn_is_listed_with_what_its_owner_needs,
    a_lost_turn_is_listed_before_what_runs_and_waits,
    a_failed_turn_is_listed_while_it_can_run_again,
    replies_are_listed_by_target,
    a_listing_is_bounded_and_says_what_it_left_out,
)

"""Checks of albums: messages that arrive one by one and are answered as one."""

from dataclasses import replace
from datetime import timedelta

from fermix.application.ports.admissions import Accepted, Album, Full
from fermix.domain.lane import (
    ALBUM_MAX_OPEN,
    ALBUM_MAX_PARTS,
    ALBUM_WAIT_AFTER_RESTART,
    Placement,
    QueueLimits,
)
from fermix.domain.turn import TurnState
from fermix.testing.expectations import must_equal
from fermix.testing.ledger_checks.check import (
    SERVED,
    LedgerCheck,
    admit,
    claim_all,
    claim_one,
    keys,
    must_stand,
    owned,
    proves,
    recover,
)
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.samples import WINDOW, answering, asking, written

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@proves("album.part_restarts_the_window", "album.collecting_holds_the_lane")
async def an_album_becomes_one_turn(harness: LedgerHarness) -> None:
    """Parts of an album join one turn, each restarts its wait, and nobody's younger message overtakes it."""
    async with owned(harness) as ledger:
        first = await admit(ledger, asking(written("1"), album="a"))
        harness.clock.advance(WINDOW - SECOND)
        second = await admit(ledger, asking(written("2"), album="a"))
        must_equal(second.turn, first.turn, "the turn of the second part")
        await admit(ledger, asking(written("3", sender="another")))
        harness.clock.advance(WINDOW - SECOND)
        claims = await ledger.turns.claim(limit=4, channels=frozenset({written("1").channel}))
        must_equal(claims.turns, (), "turns to claim inside the window")
        must_equal(claims.next_due, harness.clock.now() + SECOND, "when to look again")
        harness.clock.advance(SECOND)
        must_equal(keys(await claim_all(ledger)), [["1", "2"]], "the album after its window")


@proves("album.closes_at_ten_or_window_end")
async def an_album_closes_at_its_last_part(harness: LedgerHarness) -> None:
    """The last part an album can have ends its wait; a later one opens another turn."""
    async with owned(harness) as ledger:
        expected = [str(number) for number in range(ALBUM_MAX_PARTS)]
        for key in expected:
            await admit(ledger, asking(written(key), album="a"))
        must_equal(keys(await claim_all(ledger)), [expected], "a whole album at once")
        late = await admit(ledger, asking(written("late"), album="a"))
        harness.clock.advance(WINDOW)
        must_equal(await claim_all(ledger), (), "turns beside the running one")
        await must_stand(ledger, "late", TurnState.QUEUED)
        must_equal(late.turn is not None, True, "a turn of its own")


@proves()
async def an_album_without_a_window_is_no_album(harness: LedgerHarness) -> None:
    """A wait of nothing means that albums are not collected: every part is a turn of its own, at once."""
    async with owned(harness) as ledger:
        for key in ("1", "2"):
            item = asking(written(key))
            await admit(ledger, replace(item, album=Album(key="a", debounce=timedelta(0))))
        must_equal(keys(await claim_all(ledger)), [["1"]], "the first part alone")


@proves()
async def an_album_is_read_in_its_platforms_order(harness: LedgerHarness) -> None:
    """Parts are read as their platform numbers them, or by its time; without either, as they arrived."""
    noon = harness.clock.now()
    numbered = [replace(written(key), album="numbered") for key in ("102", "101", "103")]
    timed = [replace(written(f"t{n}"), album="timed", sent_at=noon + n * SECOND) for n in (2, 1, 3)]
    neither = [replace(written(key), album="neither") for key in ("c", "a", "b")]
    async with owned(harness) as ledger:
        for part in (*numbered, *timed, *neither):
            await admit(ledger, asking(part, album=part.album))
        for expected in (["101", "102", "103"], ["t1", "t2", "t3"], ["c", "a", "b"]):
            harness.clock.advance(WINDOW)
            claimed = await claim_one(ledger)
            must_equal(keys([claimed]), [expected], "the parts in their order")
            await ledger.turns.settle(answering(claimed, "seen"))


@proves()
async def an_album_that_was_begun_is_taken_whole(harness: LedgerHarness) -> None:
    """The other parts of an album that waits are taken beyond the limits; a new album is not."""
    for limits, placement in (
        (QueueLimits(per_conversation=1), Placement.FULL_CONVERSATION),
        (QueueLimits(total=1), Placement.FULL_TOTAL),
    ):
        async with owned(harness, limits=limits) as ledger:
            await admit(ledger, asking(written(f"1 {placement}"), album="a"))
            await admit(ledger, asking(written(f"2 {placement}"), album="a"))
            other = asking(written(f"3 {placement}", sender="another"), album="b")
            must_equal(await ledger.admissions.admit([other]), (Full(placement=placement),), "a new album")
            harness.clock.advance(WINDOW)
            claimed = await claim_one(ledger)
            must_equal(len(claimed.messages), 2, "parts of the album")
            await ledger.turns.settle(answering(claimed, "seen"))


@proves()
async def only_so_many_albums_are_waited_for(harness: LedgerHarness) -> None:
    """Where too many albums of a conversation wait, a part of another one is a message of its own."""
    limits = QueueLimits(per_conversation=2 * ALBUM_MAX_OPEN, total=2 * ALBUM_MAX_OPEN)
    people = [asking(written(str(n), sender=f"p{n}"), album=f"a{n}") for n in range(ALBUM_MAX_OPEN + 1)]
    async with owned(harness, limits=limits) as ledger:
        results = await ledger.admissions.admit(people)
        must_equal({type(result) for result in results}, {Accepted}, "what became of the parts")
        await must_stand(ledger, str(ALBUM_MAX_OPEN - 1), TurnState.COLLECTING)
        await must_stand(ledger, str(ALBUM_MAX_OPEN), TurnState.QUEUED)


@proves()
async def an_album_waits_on_after_a_restart(harness: LedgerHarness) -> None:
    """After a restart an album waits anew for the parts that its platform now offers again, and keeps all."""
    async with owned(harness) as ledger:
        first = await admit(ledger, asking(written("1"), album="a"))
        await harness.cut_power()
    harness.clock.advance(HOUR)
    async with owned(harness) as ledger:
        await recover(ledger)
        await recover(ledger)
        claims = await ledger.turns.claim(limit=4, channels=SERVED)
        must_equal(claims.turns, (), "turns to claim at the start")
        must_equal(claims.next_due, harness.clock.now() + ALBUM_WAIT_AFTER_RESTART, "when to look again")
        second = await admit(ledger, asking(written("2"), album="a"))
        must_equal(second.turn, first.turn, "the turn of the part that was offered again")
        harness.clock.advance(ALBUM_WAIT_AFTER_RESTART)
        must_equal(keys(await claim_all(ledger)), [["1", "2"]], "the album")


@proves()
async def a_clock_that_is_set_back_holds_no_album(harness: LedgerHarness) -> None:
    """An album from the future is ready at once: how long it has waited, nobody knows."""
    async with owned(harness) as ledger:
        await admit(ledger, asking(written("1"), album="a"))
        harness.clock.set_back(HOUR)
        must_equal(keys(await claim_all(ledger)), [["1"]], "the album after the clock was set back")


CHECKS: tuple[LedgerCheck, ...] = (
    an_album_becomes_one_turn,
    an_album_closes_at_its_last_part,
    an_album_without_a_window_is_no_album,
    an_album_is_read_in_its_platforms_order,
    an_album_that_was_begun_is_taken_whole,
    only_so_many_albums_are_waited_for,
    an_album_waits_on_after_a_restart,
    a_clock_that_is_set_back_holds_no_album,
)

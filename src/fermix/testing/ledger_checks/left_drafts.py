"""Checks of drafts whose turns were ended by others than their own task: handed out once, and only then."""

from fermix.application.ports.admissions import Discard, StopEverything
from fermix.application.ports.outbox import LeftDraft
from fermix.domain.ids import PlatformMessageId
from fermix.domain.recovery import Repeat
from fermix.testing.expectations import must_equal
from fermix.testing.ledger_checks.check import (
    LedgerCheck,
    admit,
    asked_and_claimed,
    effect,
    owned,
    proves,
    recover,
)
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.samples import REMOTE, answering, commanding, written

DRAFT = PlatformMessageId("draft 1")


async def drafting(ledger: OpenLedger, *also: Repeat) -> LeftDraft:
    """A turn runs, has opened a draft, and then begun effects of these kinds."""
    claimed = await asked_and_claimed(ledger)
    await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT))
    await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=0, outcome=DRAFT)
    for step, repeat in enumerate(also, start=1):
        shows = "so far" if repeat is Repeat.TEXT else None
        await ledger.turns.begin_effect(effect(claimed, repeat, step=step, shows=shows))
    return LeftDraft(target=claimed.messages[-1].target, draft=DRAFT)


async def left(ledger: OpenLedger) -> tuple[LeftDraft, ...]:
    """What is handed out to somebody who serves the channel."""
    return await ledger.outbox.left_drafts(channels=[REMOTE])


async def stop(ledger: OpenLedger) -> None:
    """Somebody stops everything."""
    await admit(ledger, commanding(written("stop", "/stop"), StopEverything()))


@proves()
async def the_draft_of_a_stopped_turn_is_left_to_its_task_and_after_a_death_to_the_next_owner(
    harness: LedgerHarness,
) -> None:
    """A draft of a turn that runs here is its task's affair; one that it could not remove is handed out once."""
    async with owned(harness) as ledger:
        draft = await drafting(ledger)
        await stop(ledger)
        must_equal(await left(ledger), (), "drafts for others while its task lives")
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal(await ledger.outbox.left_drafts(channels=[]), (), "drafts of channels that are not served")
        must_equal(await left(ledger), (draft,), "drafts after the death")
        must_equal(await left(ledger), (), "drafts, asked again")


@proves()
async def the_draft_of_a_turn_that_waits_again_goes_with_it(harness: LedgerHarness) -> None:
    """A turn that is to run again keeps its draft, until it is stopped where it waits."""
    async with owned(harness) as ledger:
        draft = await drafting(ledger)
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal(await left(ledger), (), "drafts while the turn waits")
        await stop(ledger)
        must_equal(await left(ledger), (draft,), "drafts after the stop")


@proves()
async def the_draft_of_a_paused_turn_goes_when_its_owner_discards_it(harness: LedgerHarness) -> None:
    """A paused turn keeps its draft for a retry; discarded, it leaves it to be removed."""
    async with owned(harness) as ledger:
        draft = await drafting(ledger, Repeat.UNSAFE)
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal(await left(ledger), (), "drafts while the turn is paused")
        await admit(ledger, commanding(written("discard", "/discard"), Discard()))
        must_equal(await left(ledger), (draft,), "drafts after it was discarded")


@proves()
async def a_draft_whose_place_words_have_taken_is_none_any_more(harness: LedgerHarness) -> None:
    """Neither a draft that became the reply nor one that tells of the restart is ever handed out."""
    async with owned(harness) as ledger:
        await drafting(ledger, Repeat.TEXT)
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal(await left(ledger), (), "drafts of a turn that was cut off")
        claimed = await asked_and_claimed(ledger, "2")
        await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT))
        await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=0, outcome="draft 2")
        await ledger.turns.settle(answering(claimed, "answer"))
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal(await left(ledger), (), "drafts of a turn that was answered")


CHECKS: tuple[LedgerCheck, ...] = (
    the_draft_of_a_stopped_turn_is_left_to_its_task_and_after_a_death_to_the_next_owner,
    the_draft_of_a_turn_that_waits_again_goes_with_it,
    the_draft_of_a_paused_turn_goes_when_its_owner_discards_it,
    a_draft_whose_place_words_have_taken_is_none_any_more,
)

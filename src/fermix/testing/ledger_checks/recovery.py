"""Checks of what becomes of turns whose process died: the six rules, pauses, and doing it again."""

from collections.abc import Sequence

from fermix.application.ports.ownership import Recovered
from fermix.application.ports.turns import EffectIntent
from fermix.domain import wording
from fermix.domain.authorization import Trust
from fermix.domain.delivery import TextPart
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.ids import PlatformMessageId
from fermix.domain.recovery import MAX_ATTEMPTS, Repeat
from fermix.domain.route import target_of
from fermix.domain.turn import Outcome, TurnState
from fermix.testing.expectations import must_equal
from fermix.testing.ledger_checks.check import (
    LedgerCheck,
    admit,
    ask,
    asked_and_claimed,
    claim_all,
    claim_one,
    deliver,
    effect,
    keys,
    must_stand,
    owned,
    proves,
    recover,
    remembered,
    texts,
)
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.samples import LOCAL, REMOTE, answering, asking, written

CUT_SHORT = (UserEntry(text="asked 1"), MarkerEntry(text=wording.INTERRUPTED_MARKER))


async def die_after(
    harness: LedgerHarness, *steps: tuple[Repeat, str | None], trust: Trust = Trust.OPERATOR
) -> None:
    """Let a process die in a turn that journalled effects of these kinds; one with words is a part sent."""
    async with owned(harness) as ledger:
        await admit(ledger, asking(written("1", "asked 1"), trust=trust))
        claimed = await claim_one(ledger)
        for step, (repeat, shows) in enumerate(steps):
            await ledger.turns.begin_effect(effect(claimed, repeat, step=step, shows=shows))
        await harness.kill()


def found(recovered: Recovered) -> dict[str, int]:
    """How many turns a recovery put where."""
    sorts: dict[str, Sequence[object]] = {
        "replayed": recovered.replayed,
        "interrupted": recovered.interrupted,
        "failed": recovered.failed,
        "unknown": recovered.unknown,
    }
    return {sort: len(turns) for sort, turns in sorts.items() if turns}


@proves("recovery.awaited_is_interrupted")
async def an_awaited_turn_is_never_run_again(harness: LedgerHarness) -> None:
    """A turn somebody waited for is interrupted by the death, running or waiting, and nobody is told by a part."""
    async with owned(harness) as ledger:
        await admit(ledger, asking(written("1", "asked 1"), awaited=True))
        await claim_one(ledger)
        await admit(ledger, asking(written("2", "asked 2", chat="8"), awaited=True))
        await harness.kill()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal((found(recovered), recovered.parts), ({"interrupted": 2}, ()), "what was put right")
        must_equal(await claim_all(ledger), (), "what runs")
        must_equal(await remembered(ledger), CUT_SHORT, "the history")


@proves(
    "recovery.unsafe_effect_is_unknown",
    "recovery.unknown_pauses_lane",
    "recovery.journal_keeps_intent_and_outcome",
)
async def a_turn_that_did_something_waits_for_its_owner(harness: LedgerHarness) -> None:
    """An intent is on disk before its call runs: after a power cut its turn is unknown and its lane paused."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        await ledger.turns.begin_effect(effect(claimed, Repeat.UNSAFE))
        await ask(ledger, "2")
        await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=0, outcome="done")
        await harness.cut_power()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal(
            (found(recovered), texts(recovered.parts)), ({"unknown": 1}, [wording.PAUSED]), "what was done"
        )
        must_equal(await claim_all(ledger), (), "what runs in a paused lane")
        counts = await ledger.queue.counts()
        must_equal((counts.paused, counts.waiting, counts.running), (1, 1, 0), "the queue")
        (paused,) = await ledger.queue.paused()
        must_equal((paused.turn, paused.generation), (claimed.turn, claimed.generation), "what is paused")


@proves("recovery.unknown_told_once")
async def a_pause_is_told_once(harness: LedgerHarness) -> None:
    """However often processes start, the people of a paused lane are told once."""
    await die_after(harness, (Repeat.UNSAFE, None))
    said: list[str] = []
    for _ in range(3):
        async with owned(harness) as ledger:
            said += await deliver(ledger, (await recover(ledger)).parts)
            await harness.kill()
    must_equal(said, [wording.PAUSED], "what was said")


@proves("recovery.own_text_is_interrupted")
async def a_turn_that_showed_text_is_cut_off(harness: LedgerHarness) -> None:
    """A turn whose own words were shown is interrupted, its reader told where it was cut off, its lane goes on."""
    await die_after(harness, (Repeat.ADOPT, None), (Repeat.TEXT, "block"))
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal(found(recovered), {"interrupted": 1}, "what was put right")
        must_equal(await deliver(ledger, recovered.parts), ["block", wording.CUT_OFF], "what is said")
        must_equal(await remembered(ledger), CUT_SHORT, "the history")
        await asked_and_claimed(ledger, "2")


@proves("recovery.guest_reply_parts_only")
async def a_guest_is_asked_to_send_it_again(harness: LedgerHarness) -> None:
    """A guest's turn that did nothing but send its own parts is interrupted, and the guest asked again."""
    await die_after(harness, (Repeat.UNSAFE, "a file"), trust=Trust.GUEST)
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal(found(recovered), {"interrupted": 1}, "what was put right")
        must_equal(await deliver(ledger, recovered.parts), ["a file", wording.ASK_AGAIN], "what is said")


@proves("recovery.guest_reply_parts_only", "recovery.unsafe_effect_is_unknown")
async def what_a_guest_did_elsewhere_waits_for_the_owner(harness: LedgerHarness) -> None:
    """A guest's turn that acted otherwise, or sent something to another place, is unknown like any other."""
    async with owned(harness) as ledger:
        await admit(ledger, asking(written("1", chat="7"), trust=Trust.GUEST))
        await admit(ledger, asking(written("2", chat="8"), trust=Trust.GUEST))
        acting, sending = await claim_all(ledger)
        await ledger.turns.begin_effect(effect(acting, Repeat.UNSAFE))
        plain = effect(sending, Repeat.UNSAFE)
        elsewhere = EffectIntent(
            turn=plain.turn,
            generation=plain.generation,
            step=plain.step,
            name=plain.name,
            repeat=plain.repeat,
            intent=plain.intent,
            part=TextPart(text="to somebody else"),
            target=target_of(written("2", chat="elsewhere")),
        )
        await ledger.turns.begin_effect(elsewhere)
        await harness.kill()
    async with owned(harness) as ledger:
        must_equal(found(await recover(ledger)), {"unknown": 2}, "what was put right")


@proves("recovery.at_most_two_replays")
async def a_turn_that_kills_its_process_is_given_up(harness: LedgerHarness) -> None:
    """A turn that was claimed three times fails with an apology, and its lane goes on."""
    async with owned(harness) as ledger:
        await ask(ledger, "1")
        await ask(ledger, "2")
        await harness.kill()
    for _ in range(MAX_ATTEMPTS):
        async with owned(harness) as ledger:
            await recover(ledger)
            must_equal(keys([await claim_one(ledger)]), [["1"]], "what runs")
            await harness.kill()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal(found(recovered), {"failed": 1}, "what was put right")
        must_equal(texts(recovered.parts), [wording.TRIED_TOO_OFTEN], "what is said")
        await must_stand(ledger, "1", TurnState.SETTLED, Outcome.FAILED)
        must_equal(keys([await claim_one(ledger)]), [["2"]], "what runs next")


@proves()
async def a_draft_of_a_turn_that_is_given_up_becomes_its_apology(harness: LedgerHarness) -> None:
    """What ends a turn that was tried too often takes the place of its newest draft."""
    for attempt in range(MAX_ATTEMPTS):
        async with owned(harness) as ledger:
            if attempt == 0:
                await ask(ledger, "1")
            await recover(ledger)
            claimed = await claim_one(ledger)
            await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT))
            await ledger.turns.end_effect(
                claimed.turn, generation=claimed.generation, step=0, outcome=f"draft {attempt}"
            )
            await harness.kill()
    newest = PlatformMessageId(f"draft {MAX_ATTEMPTS - 1}")
    async with owned(harness) as ledger:
        (part,) = (await recover(ledger)).parts
        must_equal(part.body, TextPart(text=wording.TRIED_TOO_OFTEN, draft=newest), "what is said")


@proves("recovery.replays_without_effect")
async def a_turn_without_effect_runs_again(harness: LedgerHarness) -> None:
    """A turn that did nothing outside is queued again at its place, and handed the drafts it had opened."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        await ask(ledger, "2")
        for step in (0, 1):
            await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT, step=step))
        await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=0, outcome="draft")
        await harness.kill()
    async with owned(harness) as ledger:
        must_equal(found(await recover(ledger)), {"replayed": 1}, "what was put right")
        again = await claim_one(ledger)
        must_equal((keys([again]), again.attempts, again.drafts), ([["1"]], 2, ("draft",)), "the replay")
        must_equal(again.generation > claimed.generation, True, "a newer generation")


@proves()
async def a_claim_lost_with_the_power_was_none(harness: LedgerHarness) -> None:
    """Whether or not a power cut takes a claim with it, its turn runs again."""
    async with owned(harness) as ledger:
        await asked_and_claimed(ledger)
        await harness.cut_power()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal(keys([await claim_one(ledger)]), [["1"]], "what runs")


@proves()
async def a_settled_turn_is_left_alone(harness: LedgerHarness) -> None:
    """A turn that was settled before the death is not touched; its answer leaves."""
    async with owned(harness) as ledger:
        await ledger.turns.settle(answering(await asked_and_claimed(ledger), "answer"))
        await harness.kill()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal((found(recovered), texts(recovered.parts)), ({}, ["answer"]), "what was put right")
        must_equal(await claim_all(ledger), (), "what runs")


@proves()
async def recovering_again_changes_nothing(harness: LedgerHarness) -> None:
    """A second recovery finds nothing, in the same process or after another death, and leaves what runs alone."""
    async with owned(harness) as ledger:
        await asked_and_claimed(ledger, "1")
        unsafe = await asked_and_claimed(ledger, "2", chat="8")
        await ledger.turns.begin_effect(effect(unsafe, Repeat.UNSAFE))
        await harness.kill()
    async with owned(harness) as ledger:
        must_equal(found(await recover(ledger)), {"replayed": 1, "unknown": 1}, "the first time")
        must_equal(await recover(ledger), Recovered(), "at once again")
        running = await claim_one(ledger)
        must_equal(await recover(ledger), Recovered(), "while a turn runs")
        await ledger.turns.settle(answering(running, "answer"))


@proves()
async def channels_of_others_are_left_alone(harness: LedgerHarness) -> None:
    """A process puts right what it serves; the rest stays for the one that serves it."""
    async with owned(harness) as ledger:
        await ask(ledger, "1", channel=REMOTE)
        await ask(ledger, "2", channel=LOCAL)
        await claim_all(ledger)
        await harness.kill()
    async with owned(harness) as ledger:
        local = await ledger.ownership.recover(channels=frozenset({LOCAL}))
        must_equal(found(local), {"replayed": 1}, "of the local channel")
        must_equal(keys(await claim_all(ledger)), [["2"]], "what runs")
        must_equal(
            found(await ledger.ownership.recover(channels=frozenset({REMOTE}))), {"replayed": 1}, "the rest"
        )


CHECKS: tuple[LedgerCheck, ...] = (
    an_awaited_turn_is_never_run_again,
    a_turn_that_did_something_waits_for_its_owner,
    a_pause_is_told_once,
    a_turn_that_showed_text_is_cut_off,
    a_guest_is_asked_to_send_it_again,
    what_a_guest_did_elsewhere_waits_for_the_owner,
    a_turn_that_kills_its_process_is_given_up,
    a_draft_of_a_turn_that_is_given_up_becomes_its_apology,
    a_turn_without_effect_runs_again,
    a_claim_lost_with_the_power_was_none,
    a_settled_turn_is_left_alone,
    recovering_again_changes_nothing,
    channels_of_others_are_left_alone,
)

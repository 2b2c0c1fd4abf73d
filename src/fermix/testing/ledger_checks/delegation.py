"""Checks of handing work on: it is stored with a scope that can only narrow, and only a running turn does it."""

from dataclasses import replace

from fermix.application.ports.admissions import Accepted, Duplicate, Full, StopEverything
from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain.authorization import Trust
from fermix.domain.capability import (
    Capability,
    OnlyNames,
    OnlyRisks,
    RiskClass,
    Scope,
    WithoutNames,
)
from fermix.domain.lane import Placement, QueueLimits
from fermix.domain.sub_work import SubWork
from fermix.testing.expectations import must_be, must_equal, must_refuse
from fermix.testing.ledger_checks.check import (
    LedgerCheck,
    admit,
    ask,
    asked_and_claimed,
    claim_one,
    deliver,
    owned,
    proves,
    recover,
)
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.samples import answering, asking, commanding, written

READ = OnlyNames(names=frozenset({"read", "look", "screen"}))
LOOKS = WithoutNames(names=frozenset({"read"}))
HARMLESS = OnlyRisks(risks=frozenset({RiskClass.READ_ONLY, RiskClass.GUI_CONTROL}))

EVERYTHING = tuple(
    Capability(name=name, description=name, risk=risk, owner_data=False)
    for name, risk in (
        ("read", RiskClass.READ_ONLY),
        ("look", RiskClass.READ_ONLY),
        ("screen", RiskClass.GUI_CONTROL),
        ("run", RiskClass.EXEC),
    )
)


def seen(scope: Scope) -> list[str]:
    """The names of what a scope shows."""
    return [capability.name for capability in scope.visible(EVERYTHING)]


def work_of(parent: ClaimedTurn, name: str = "one", *, scope: Scope | None = None) -> SubWork:
    """Something that a claimed turn hands on, seeing all that it sees unless another scope is claimed."""
    return SubWork(
        turn=parent.turn,
        generation=parent.generation,
        name=name,
        text=f"do {name}",
        scope=parent.scope if scope is None else scope,
    )


async def running(ledger: OpenLedger, scope: Scope) -> ClaimedTurn:
    """A running turn whose scope was stored at admission."""
    item = replace(asking(written("1")), scope=scope, trust=scope.trust or Trust.GUEST)
    await admit(ledger, item)
    return await claim_one(ledger)


@proves("snapshot.inherited_by_sub_work")
async def work_handed_on_sees_less_than_its_parent_and_never_the_screen(harness: LedgerHarness) -> None:
    """The scope stored with handed-on work is the parent's, narrowed further and without screen control."""
    async with owned(harness) as ledger:
        parent = await running(ledger, Scope(trust=Trust.OPERATOR, narrowing=(READ,)))
        must_equal(seen(parent.scope), ["read", "look", "screen"], "what the parent sees")
        await ledger.delegation.hand_on(replace(work_of(parent), narrowing=(LOOKS,)))
        child = await claim_one(ledger)
        must_equal(seen(child.scope), ["look"], "what the work sees")
        must_equal((child.scope.delegated, child.scope.trust), (True, Trust.OPERATOR), "its scope")


@proves("snapshot.inherited_by_sub_work")
async def nobody_widens_a_scope_by_handing_on(harness: LedgerHarness) -> None:
    """Whatever the caller says the parent sees, the work stays within what is stored, over all generations."""
    async with owned(harness) as ledger:
        parent = await running(ledger, Scope(trust=Trust.OPERATOR, narrowing=(READ,)))
        await ledger.delegation.hand_on(work_of(parent, scope=Scope(trust=Trust.OPERATOR)))
        child = await claim_one(ledger)
        must_equal(seen(child.scope), ["read", "look"], "what the work of a boaster sees")
        await ledger.delegation.hand_on(work_of(child, scope=Scope(trust=Trust.OPERATOR)))
        grandchild = await claim_one(ledger)
        must_equal(seen(grandchild.scope), ["read", "look"], "what the work of its work sees")


@proves("snapshot.inherited_by_sub_work")
async def a_parent_that_lost_trust_hands_on_no_more_than_it_has_left(harness: LedgerHarness) -> None:
    """What the parent sees now counts beside what was stored; a guest's work is a guest's, none stays none."""
    async with owned(harness) as ledger:
        parent = await running(ledger, Scope(trust=Trust.OPERATOR))
        await ledger.delegation.hand_on(work_of(parent, scope=parent.scope.narrowed(trust=Trust.GUEST)))
        lowered = await claim_one(ledger)
        must_equal(lowered.scope.trust, Trust.GUEST, "the trust of work of a lowered parent")
        must_equal(lowered.messages[0].trust, Trust.GUEST, "the trust of the message that asks for it")
        must_equal(seen(lowered.scope), ["read", "look"], "what it sees")
        await ledger.delegation.hand_on(
            work_of(parent, "two", scope=Scope(trust=None, narrowing=(HARMLESS,)))
        )
        trustless = await claim_one(ledger)
        must_equal(seen(trustless.scope), ["read", "look"], "what work without trust sees")
        must_equal(trustless.messages[0].trust, Trust.GUEST, "the trust of the message without any")


@proves("snapshot.inherited_by_sub_work")
async def the_scope_of_handed_on_work_survives_a_death(harness: LedgerHarness) -> None:
    """What was handed on is on disk: after a kill or a power cut it waits, with the scope it was given."""
    for die in (harness.kill, harness.cut_power):
        async with owned(harness) as ledger:
            parent = await asked_and_claimed(ledger, key := die.__name__)
            await ledger.delegation.hand_on(replace(work_of(parent, key), narrowing=(READ,)))
            await die()
        async with owned(harness) as ledger:
            await recover(ledger)
            claims = await ledger.turns.claim(limit=4, channels=frozenset({parent.route.channel}))
            scopes = {turn.messages[0].message.text: turn.scope for turn in claims.turns}
            must_equal(seen(scopes[f"do {key}"]), ["read", "look"], "what the work sees")
            must_equal(scopes[f"do {key}"].delegated, True, "whether it counts as handed on")
            for turn in claims.turns:
                await ledger.turns.settle(answering(turn))


@proves()
async def handed_on_work_neither_waits_for_its_parent_nor_holds_it_up(harness: LedgerHarness) -> None:
    """The work has a lane of its own, is asked for by who asked the parent, and answers where the parent does."""
    async with owned(harness) as ledger:
        parent = await asked_and_claimed(ledger, "1")
        await ask(ledger, "2")
        accepted = must_be(await ledger.delegation.hand_on(work_of(parent)), Accepted, "handing on")
        child = await claim_one(ledger)
        must_equal(child.turn, accepted.turn, "what starts beside the parent")
        must_equal(child.lane != parent.lane, True, "a lane of its own")
        (asked,), (asker,) = child.messages, parent.messages
        must_equal(asked.message.sender, asker.message.sender, "who asks")
        must_equal(asked.target, asker.target, "where it answers")
        must_equal((asked.message.text, asked.message.attachments), ("do one", ()), "what is asked")
        must_equal(
            await deliver(ledger, await ledger.turns.settle(answering(child, "done"))), ["done"], "said"
        )
        await ledger.turns.settle(answering(parent))
        must_equal((await claim_one(ledger)).lane, parent.lane, "what the parent's lane goes on with")


@proves()
async def a_replayed_parent_hands_the_same_work_on_once(harness: LedgerHarness) -> None:
    """The same name of the same turn is the same work, also for the next claim of that turn."""
    async with owned(harness) as ledger:
        parent = await asked_and_claimed(ledger)
        first = must_be(await ledger.delegation.hand_on(work_of(parent)), Accepted, "handing on")
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        turns = (await ledger.turns.claim(limit=4, channels=frozenset({parent.route.channel}))).turns
        again = next(turn for turn in turns if turn.turn == parent.turn)
        second = must_be(await ledger.delegation.hand_on(work_of(again)), Duplicate, "handing on again")
        must_equal(second.turn, first.turn, "the turn it is")
        must_be(await ledger.delegation.hand_on(work_of(again, "two")), Accepted, "other work")


@proves()
async def only_a_running_turn_hands_on(harness: LedgerHarness) -> None:
    """A stopped turn and an ended one start nothing more; what they had started is stopped like all."""
    async with owned(harness) as ledger:
        parent = await asked_and_claimed(ledger)
        await ledger.delegation.hand_on(work_of(parent))
        await admit(ledger, commanding(written("stop", "/stop", chat="9"), StopEverything()))
        with must_refuse(StaleTurn, "work of a stopped turn"):
            await ledger.delegation.hand_on(work_of(parent, "two"))
        must_equal((await ledger.queue.counts()).waiting, 0, "what waits after everything was stopped")
        other = await asked_and_claimed(ledger, "3")
        await ledger.turns.settle(answering(other))
        with must_refuse(StaleTurn, "work of an ended turn"):
            await ledger.delegation.hand_on(work_of(other))


@proves()
async def what_is_handed_on_counts_among_what_waits(harness: LedgerHarness) -> None:
    """At the total limit nothing more is handed on, and nothing of it is written."""
    async with owned(harness, limits=QueueLimits(per_conversation=2, total=2)) as ledger:
        parent = await asked_and_claimed(ledger)
        for name in ("one", "two"):
            must_be(await ledger.delegation.hand_on(work_of(parent, name)), Accepted, "handing on")
        full = must_be(await ledger.delegation.hand_on(work_of(parent, "three")), Full, "handing on too much")
        must_equal(full.placement, Placement.FULL_TOTAL, "why not")
        must_equal((await ledger.queue.counts()).waiting, 2, "what waits")


CHECKS: tuple[LedgerCheck, ...] = (
    work_handed_on_sees_less_than_its_parent_and_never_the_screen,
    nobody_widens_a_scope_by_handing_on,
    a_parent_that_lost_trust_hands_on_no_more_than_it_has_left,
    the_scope_of_handed_on_work_survives_a_death,
    handed_on_work_neither_waits_for_its_parent_nor_holds_it_up,
    a_replayed_parent_hands_the_same_work_on_once,
    only_a_running_turn_hands_on,
    what_is_handed_on_counts_among_what_waits,
)

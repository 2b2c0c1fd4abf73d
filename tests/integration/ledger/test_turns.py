"""Turns: claims in order, the journal of effects, settlement, and giving back; each behind its guard."""

from dataclasses import replace
from pathlib import Path

import pytest

from fermix.application.ports.admissions import OpenWindow, StopEverything
from fermix.application.ports.ledger_errors import LedgerError, StaleTurn
from fermix.application.ports.outbox import NotDelivered, Sent
from fermix.application.ports.turns import ClaimedTurn, EffectIntent
from fermix.domain.delivery import TextPart
from fermix.domain.history import AssistantEntry, CallRecord, MarkerEntry, ToolEntry, UserEntry
from fermix.domain.ids import Generation, PlatformMessageId
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome
from fermix.domain.wording import STOPPED_MARKER
from tests.integration.ledger.kit import (
    CLI,
    SERVED,
    a_ledger,
    admit_one,
    an_owned_ledger,
    answer,
    ask_file,
    claim_one,
    commands,
    failure,
    says,
    take,
)

pytestmark = pytest.mark.anyio


def an_effect(claimed: ClaimedTurn, *, step: int = 0, repeat: Repeat = Repeat.UNSAFE) -> EffectIntent:
    return EffectIntent(
        turn=claimed.turn,
        generation=claimed.generation,
        step=step,
        name="file_write",
        repeat=repeat,
        intent='{"path":"a"}',
    )


@pytest.mark.requirement(
    "lane.first_in_first_out", "lane.one_turn_at_a_time", "lane.conversations_are_independent"
)
async def test_lanes_run_side_by_side_and_each_in_its_own_order(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit(
            [says("a1", chat="a"), says("a2", chat="a"), says("b1", chat="b"), says("a3", chat="a")]
        )
        first = (await ledger.turns.claim(limit=9, channels=SERVED)).turns
        await ledger.turns.settle(answer(first[0]))
        second = await claim_one(ledger)
    assert [turn.messages[0].message.key for turn in first] == ["a1", "b1"]
    assert second.messages[0].message.key == "a2"


@pytest.mark.requirement("lane.fair_between_conversations")
async def test_lanes_take_turns_however_much_waits_in_one(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit([says(f"a{n}", chat="a") for n in range(3)])
        await ledger.admissions.admit([says(f"b{n}", chat="b") for n in range(2)])
        order = []
        for _ in range(5):
            claimed = await claim_one(ledger)
            order.append(claimed.messages[0].message.key)
            await ledger.turns.settle(answer(claimed))
    assert order == ["a0", "b0", "a1", "b1", "a2"]


async def test_no_more_is_claimed_than_asked_for_and_only_served_channels(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit(
            [says("1", channel=CLI), says("2", chat="a"), says("3", chat="b"), says("4", chat="c")]
        )
        assert (await ledger.turns.claim(limit=0, channels=SERVED)).turns == ()
        two = (await ledger.turns.claim(limit=2, channels=SERVED)).turns
        one = (await ledger.turns.claim(limit=9, channels={CLI})).turns
    assert [turn.messages[0].message.key for turn in two] == ["2", "3"]
    assert [turn.messages[0].message.key for turn in one] == ["1"]


@pytest.mark.requirement(
    "settle.one_transaction", "settle.history_is_whole", "retention.payload_goes_at_settlement"
)
async def test_a_settled_turn_leaves_history_parts_and_no_payload(path: Path) -> None:
    entries = (
        UserEntry(text="what is in a?"),
        AssistantEntry(
            text="",
            calls=(CallRecord(call_id="c", name="file_read", arguments="{}"),),
            provider="p",
            provider_state="s",
        ),
        ToolEntry(call_id="c", name="file_read", text="a \0 byte"),
        AssistantEntry(text="a byte"),
    )
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        (part,) = await ledger.turns.settle(replace(answer(claimed, "one", "two"), entries=entries))
        history = await ledger.conversations.history(accepted.lane, window=claimed.window)
        newest = await ledger.conversations.history(accepted.lane, window=claimed.window, limit=2)
    assert history == entries
    assert newest == entries[2:]
    assert (part.body, part.turn, part.ordinal, part.repeated) == (
        TextPart(text="one"),
        claimed.turn,
        0,
        False,
    )
    assert part.tried_at is None
    assert ask_file(path, "SELECT ordinal, state FROM outbox") == [(0, "sending"), (1, "pending")]
    assert ask_file(path, "SELECT body FROM messages") == [(None,)]


async def test_the_payload_of_a_failed_turn_can_be_kept(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        await ledger.turns.settle(failure(await claim_one(ledger)))
    assert ask_file(path, "SELECT count(body) FROM messages") == [(1,)]


async def test_what_settles_after_a_new_window_lands_in_the_old_one(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        await admit_one(ledger, commands("2", OpenWindow()))
        await ledger.turns.settle(answer(claimed, "late"))
        await admit_one(ledger, says("3"))
        following = await claim_one(ledger)
        old = await ledger.conversations.history(accepted.lane, window=0)
        new = await ledger.conversations.history(accepted.lane, window=1)
    assert (claimed.window, following.window) == (0, 1)
    assert old == (UserEntry(text="hello"), AssistantEntry(text="late"))
    assert new == ()


@pytest.mark.requirement("recovery.late_settlement_is_refused")
async def test_a_stale_generation_is_refused_everywhere_and_writes_nothing(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        old = await claim_one(ledger)
        assert await ledger.turns.release(old.turn, generation=old.generation)
        new = await claim_one(ledger)
        assert new.generation == Generation(old.generation + 1)
        for refused in (
            lambda: ledger.turns.settle(answer(old, "late")),
            lambda: ledger.turns.begin_effect(an_effect(old)),
            lambda: ledger.turns.end_effect(old.turn, generation=old.generation, step=0, outcome="x"),
            lambda: ledger.turns.release(old.turn, generation=old.generation),
        ):
            with pytest.raises(StaleTurn):
                await refused()
        await ledger.turns.settle(answer(new, "right"))
        with pytest.raises(StaleTurn):
            await ledger.turns.settle(answer(new, "twice"))
    assert ask_file(path, "SELECT count(*) FROM outbox") == [(1,)]
    assert ask_file(path, "SELECT count(*) FROM effects") == [(0,)]


@pytest.mark.requirement("recovery.late_settlement_is_refused")
async def test_a_turn_of_an_older_owner_cannot_be_settled_even_by_its_generation(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
    async with a_ledger(path) as ledger:
        await take(ledger)
        with pytest.raises(StaleTurn):
            await ledger.turns.settle(answer(claimed, "late"))


async def test_a_started_turn_cannot_end_as_cancelled(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        with pytest.raises(ValueError, match="cannot end as cancelled"):
            await ledger.turns.settle(answer(claimed, outcome=Outcome.CANCELLED))
        await ledger.turns.settle(answer(claimed))


async def test_a_turn_given_back_keeps_its_place_and_its_attempt(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit([says("1"), says("2")])
        claimed = await claim_one(ledger)
        assert await ledger.turns.release(claimed.turn, generation=claimed.generation)
        again = await claim_one(ledger)
    assert (again.turn, again.attempts) == (claimed.turn, 1)


@pytest.mark.parametrize("why", ["awaited", "effect"])
async def test_an_awaited_turn_and_one_with_effects_are_not_given_back(path: Path, why: str) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1", awaited=why == "awaited"))
        claimed = await claim_one(ledger)
        if why == "effect":
            await ledger.turns.begin_effect(an_effect(claimed))
        assert not await ledger.turns.release(claimed.turn, generation=claimed.generation)
        await ledger.turns.settle(answer(claimed))


async def test_the_journal_holds_intent_and_outcome(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        assert await ledger.turns.begin_effect(an_effect(claimed)) is None
        begun = ask_file(path, "SELECT name, repeat, intent, outcome FROM effects")
        await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=0, outcome="ok")
        with pytest.raises(LookupError):
            await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=7, outcome="ok")
    assert begun == [("file_write", "unsafe", '{"path":"a"}', None)]
    assert ask_file(path, "SELECT outcome FROM effects") == [("ok",)]


@pytest.mark.requirement("effects.send_is_effect_and_part", "effects.reply_ordinals_follow")
@pytest.mark.parametrize("delivered", [True, False])
async def test_a_part_sent_in_mid_turn_writes_its_effects_outcome_and_goes_before_the_reply(
    path: Path, *, delivered: bool
) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        sends = replace(an_effect(claimed), part=TextPart(text="look"), target=claimed.messages[0].target)
        part = await ledger.turns.begin_effect(sends)
        assert part is not None
        assert ask_file(path, "SELECT state FROM outbox") == [("sending",)]
        assert await ledger.turns.settle(answer(claimed, "reply")) == ()
        end = Sent(platform_id=PlatformMessageId("m9")) if delivered else NotDelivered(error="refused")
        reply = await ledger.outbox.done(part.part, end)
    assert reply is not None
    assert (reply.body, reply.ordinal) == (TextPart(text="reply"), 1)
    outcome = "m9" if delivered else "not delivered: refused"
    assert ask_file(path, "SELECT outcome FROM effects") == [(outcome,)]


async def test_an_effect_twice_under_one_step_is_refused(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        await ledger.turns.begin_effect(an_effect(claimed))
        with pytest.raises(LedgerError):
            await ledger.turns.begin_effect(an_effect(claimed))


async def test_a_replay_is_told_of_the_drafts_it_left(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        await ledger.turns.begin_effect(an_effect(claimed, repeat=Repeat.ADOPT))
        await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=0, outcome="draft-1")
    async with an_owned_ledger(path) as ledger:
        await ledger.ownership.recover(channels=SERVED)
        again = await claim_one(ledger)
    assert (again.drafts, again.attempts) == (("draft-1",), 2)


async def test_cancelling_ends_a_waiting_turn_without_a_trace_and_a_started_one_with_a_marker(
    path: Path,
) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1", "go"))
        waiting = await admit_one(ledger, says("2"))
        assert waiting.turn is not None
        claimed = await claim_one(ledger)
        sends = replace(an_effect(claimed), part=TextPart(text="x"), target=claimed.messages[0].target)
        part = await ledger.turns.begin_effect(sends)
        assert part is not None
        assert await ledger.turns.cancel(claimed.turn)
        assert await ledger.turns.cancel(waiting.turn)
        assert not await ledger.turns.cancel(claimed.turn)
        with pytest.raises(StaleTurn):
            await ledger.turns.settle(answer(claimed, "late"))
        assert await ledger.outbox.done(part.part, Sent()) is None
        history = await ledger.conversations.history(accepted.lane, window=0)
    assert history == (UserEntry(text="go"), MarkerEntry(text=STOPPED_MARKER))
    assert ask_file(path, "SELECT outcome FROM turns") == [("interrupted",), ("cancelled",)]
    assert ask_file(path, "SELECT state FROM outbox") == [("withdrawn",)]
    assert ask_file(path, "SELECT count(body) FROM messages") == [(0,)]


@pytest.mark.requirement("settle.stopped_turn_says_nothing")
async def test_a_late_settlement_after_stop_is_refused_and_delivers_nothing(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        await admit_one(ledger, commands("2", StopEverything()))
        with pytest.raises(StaleTurn):
            await ledger.turns.settle(answer(claimed, "late"))
    assert ask_file(path, "SELECT count(*) FROM outbox WHERE turn IS NOT NULL") == [(0,)]

"""A new owner puts right what the last one left: each rule, told once, and doing it again changes nothing."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fermix.application.ports.admissions import DoOutside
from fermix.application.ports.outbox import SendingPart, Sent
from fermix.application.ports.ownership import Recovered
from fermix.application.ports.turns import ClaimedTurn, EffectIntent
from fermix.domain import wording
from fermix.domain.authorization import Trust
from fermix.domain.delivery import TextPart
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.recovery import Repeat
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

BOTH = SERVED | {CLI}


def effect_of(claimed: ClaimedTurn, repeat: Repeat, *, part: str | None = None) -> EffectIntent:
    return EffectIntent(
        turn=claimed.turn,
        generation=claimed.generation,
        step=0,
        name="an effect",
        repeat=repeat,
        intent="{}",
        part=None if part is None else TextPart(text=part),
        target=None if part is None else claimed.messages[0].target,
    )


def texts(parts: tuple[SendingPart, ...]) -> list[str]:
    return [part.body.text for part in parts]


async def died_with(
    path: Path, repeat: Repeat | None, *, trust: Trust = Trust.OPERATOR, part: str | None = None
) -> ClaimedTurn:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1", "go", trust=trust))
        claimed = await claim_one(ledger)
        if repeat is not None:
            await ledger.turns.begin_effect(effect_of(claimed, repeat, part=part))
    return claimed


def everything(path: Path) -> list[object]:
    tables = ("turns", "messages", "outbox", "entries", "effects", "lanes")
    return [ask_file(path, f"SELECT * FROM {table}") for table in tables]  # noqa: S608  names of ours


@pytest.mark.requirement("recovery.replays_without_effect", "recovery.attempt_counted_before_run")
async def test_a_turn_without_effect_runs_again_in_its_place(path: Path) -> None:
    claimed = await died_with(path, None)
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("2"))
        recovered = await ledger.ownership.recover(channels=SERVED)
        again = await claim_one(ledger)
    assert recovered == Recovered(replayed=(claimed.turn,))
    assert (again.turn, again.attempts) == (claimed.turn, 2)
    assert again.generation > claimed.generation


@pytest.mark.requirement("recovery.at_most_two_replays")
async def test_a_turn_that_died_three_times_fails_with_an_apology_and_its_lane_goes_on(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1", "deadly"))
        await admit_one(ledger, says("2"))
    for _ in range(3):
        async with an_owned_ledger(path) as ledger:
            await ledger.ownership.recover(channels=SERVED)
            claimed = await claim_one(ledger)
            assert claimed.turn == accepted.turn
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        history = await ledger.conversations.history(accepted.lane, window=0)
        following = await claim_one(ledger)
    assert recovered.failed == (accepted.turn,)
    assert texts(recovered.parts) == [wording.TRIED_TOO_OFTEN]
    assert history == (UserEntry(text="deadly"), MarkerEntry(text=wording.INTERRUPTED_MARKER))
    assert following.messages[0].message.key == "2"
    assert ask_file(path, "SELECT count(body) FROM messages") == [(2,)]


@pytest.mark.requirement("recovery.awaited_is_interrupted")
@pytest.mark.parametrize("state", ["queued", "started", "collecting"])
async def test_an_awaited_turn_is_interrupted_and_nobody_is_told(path: Path, state: str) -> None:
    async with an_owned_ledger(path) as ledger:
        asked = says("1", "go", channel=CLI, awaited=True, album="g" if state == "collecting" else None)
        accepted = await admit_one(ledger, asked)
        if state == "started":
            await claim_one(ledger, frozenset({CLI}))
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=BOTH)
        history = await ledger.conversations.history(accepted.lane, window=0)
        assert (await ledger.queue.counts()).waiting == 0
    assert recovered == Recovered(interrupted=(accepted.turn,) if accepted.turn else ())
    assert history == (UserEntry(text="go"), MarkerEntry(text=wording.INTERRUPTED_MARKER))


@pytest.mark.requirement("recovery.unsafe_effect_is_unknown", "recovery.unknown_told_once")
async def test_an_unsafe_effect_pauses_the_lane_and_is_told_once(path: Path) -> None:
    claimed = await died_with(path, Repeat.UNSAFE)
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        assert [paused.turn for paused in await ledger.queue.paused()] == [claimed.turn]
    async with an_owned_ledger(path) as ledger:
        second_start = await ledger.ownership.recover(channels=SERVED)
    assert recovered.unknown == (claimed.turn,)
    assert texts(recovered.parts) == [wording.PAUSED]
    assert second_start.unknown == ()
    assert (second_start.repeated, [part.repeated for part in second_start.parts]) == (1, [True])
    assert ask_file(path, "SELECT count(*) FROM outbox") == [(1,)]


@pytest.mark.requirement("recovery.own_text_is_interrupted")
async def test_text_already_shown_is_cut_off_and_told_where(path: Path) -> None:
    claimed = await died_with(path, Repeat.TEXT, part="once upon a ti")
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        (block,) = recovered.parts
        told = await ledger.outbox.done(block.part, Sent())
    assert recovered.interrupted == (claimed.turn,)
    assert (texts(recovered.parts), block.repeated) == (["once upon a ti"], True)
    assert told is not None
    assert texts((told,)) == [wording.CUT_OFF]


@pytest.mark.requirement("recovery.guest_reply_parts_only")
async def test_a_guest_whose_turn_only_replied_is_asked_to_send_it_again(path: Path) -> None:
    claimed = await died_with(path, Repeat.UNSAFE, trust=Trust.GUEST, part="a picture")
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        told = await ledger.outbox.done(recovered.parts[0].part, Sent())
    assert recovered.interrupted == (claimed.turn,)
    assert told is not None
    assert texts((told,)) == [wording.ASK_AGAIN]


async def test_a_guest_whose_turn_did_something_else_waits_for_the_owner(path: Path) -> None:
    claimed = await died_with(path, Repeat.UNSAFE, trust=Trust.GUEST)
    async with an_owned_ledger(path) as ledger:
        assert (await ledger.ownership.recover(channels=SERVED)).unknown == (claimed.turn,)


async def test_a_part_on_its_way_leaves_once_more_marked_and_in_order(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await admit_one(ledger, says("1"))
        (first,) = await ledger.turns.settle(answer(await claim_one(ledger), "a", "b"))
    clock.advance(timedelta(minutes=1))
    async with an_owned_ledger(path, clock=clock) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        (again,) = recovered.parts
        following = await ledger.outbox.done(again.part, Sent())
    assert recovered.repeated == 1
    assert again == replace(first, repeated=True, tried_at=START)
    assert following is not None
    assert (texts((following,)), following.repeated) == (["b"], False)


@pytest.mark.requirement("command.outside_work_is_reported_not_repeated")
async def test_a_command_that_was_cut_off_is_reported_and_not_run_again(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        row = (await admit_one(ledger, commands("1", DoOutside(), text="/backup@our_bot now"))).row
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        assert await ledger.admissions.finish_command(row, [TextPart(text="late")]) == ()
    assert recovered.commands == 1
    assert texts(recovered.parts) == [wording.restarted_during("backup")]


async def test_other_channels_rows_are_left_to_their_owner(path: Path) -> None:
    await died_with(path, None)
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, commands("c", DoOutside(), chat="8"))
        await admit_one(ledger, says("s", chat="9"))
        await ledger.turns.settle(answer(await claim_one(ledger), "reply"))
    async with an_owned_ledger(path) as ledger:
        before = everything(path)
        assert await ledger.ownership.recover(channels={CLI}) == Recovered()
        assert everything(path) == before


async def test_recovering_again_changes_nothing_also_with_new_work_under_way(path: Path) -> None:
    await died_with(path, Repeat.UNSAFE)
    async with an_owned_ledger(path) as ledger:
        await ledger.ownership.recover(channels=BOTH)
        await admit_one(ledger, says("2", channel=CLI, awaited=True))
        await admit_one(ledger, commands("3", DoOutside(), chat="8"))
        await admit_one(ledger, says("4", chat="9"))
        await claim_one(ledger)
        before = everything(path)
        assert await ledger.ownership.recover(channels=BOTH) == Recovered()
        assert everything(path) == before

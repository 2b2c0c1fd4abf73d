"""`/stop`, `/new`, `/discard`, `/retry`: what they end, what they queue again, and what they leave alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from fermix.application.ports.admissions import (
    Discard,
    NothingToResolve,
    OpenWindow,
    Resolved,
    RetryTurn,
    StopEverything,
    Stopped,
    StopReport,
    WindowOpened,
)
from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.outbox import Sent
from fermix.application.ports.ownership import PausedTurn
from fermix.application.ports.turns import ClaimedTurn, EffectIntent
from fermix.domain.delivery import TextPart
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.ids import Generation, TurnId
from fermix.domain.recovery import Repeat
from fermix.domain.wording import DISCARDED_MARKER, PAUSED, STOPPED_MARKER
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from tests.integration.ledger.kit import (
    CLI,
    SERVED,
    admit_one,
    an_owned_ledger,
    answer,
    ask_file,
    claim_one,
    commands,
    failure,
    says,
)

pytestmark = pytest.mark.anyio


async def leave_unknown(path: Path, *keys: str, followers: int = 0) -> list[ClaimedTurn]:
    """One turn per key, each in a chat of its own name, paused in the middle of an unsafe effect."""
    claimed = []
    async with an_owned_ledger(path) as ledger:
        for key in keys:
            await admit_one(ledger, says(key, f"do {key}", chat=key))
            turn = await claim_one(ledger)
            await ledger.turns.begin_effect(
                EffectIntent(
                    turn=turn.turn,
                    generation=turn.generation,
                    step=0,
                    name="send_mail",
                    repeat=Repeat.UNSAFE,
                    intent="{}",
                )
            )
            claimed.append(turn)
            for number in range(followers):
                await admit_one(ledger, says(f"{key}-{number}", chat=key))
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        assert recovered.unknown == tuple(turn.turn for turn in claimed)
        await ledger.ownership.leave()
    return claimed


async def effect_of(
    ledger: SqliteLedger, key: str, work: Discard | RetryTurn | OpenWindow, chat: str = "z"
) -> object:
    return (await admit_one(ledger, commands(key, work, chat=chat))).effect


@pytest.mark.requirement("command.stop.everything_everywhere", "command.stop.marker_in_history")
async def test_stop_ends_everything_in_all_lanes_and_channels(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        running = await admit_one(ledger, says("1", "run", chat="a"))
        claimed = await claim_one(ledger)
        waiting = await admit_one(ledger, says("2", chat="a"))
        album = await admit_one(ledger, says("3", chat="b", album="g"))
        await admit_one(ledger, says("4", chat="b", album="g"))
        local = await admit_one(ledger, says("5", channel=CLI))
        stopped = await admit_one(ledger, commands("6", StopEverything(), chat="c"))
        history = await ledger.conversations.history(running.lane, window=0)
        nothing_left = await admit_one(ledger, commands("7", StopEverything(), chat="c"))
        assert (await ledger.turns.claim(limit=9, channels=SERVED | {CLI})).turns == ()
    assert stopped.effect == Stopped(
        report=StopReport(
            running=(claimed.turn,),
            waiting=tuple(one.turn for one in (waiting, album, local) if one.turn is not None),
            waiting_messages=4,
        )
    )
    assert nothing_left.effect == Stopped(report=StopReport())
    assert history == (UserEntry(text="run"), MarkerEntry(text=STOPPED_MARKER))
    assert ask_file(path, "SELECT outcome FROM turns") == [
        ("interrupted",),
        ("cancelled",),
        ("cancelled",),
        ("cancelled",),
    ]


@pytest.mark.requirement("command.stop.never_replayed")
async def test_what_stop_ended_cannot_be_retried(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        await admit_one(ledger, commands("2", StopEverything()))
        assert await effect_of(ledger, "3", RetryTurn(turn=claimed.turn)) == NothingToResolve()
    assert ask_file(path, "SELECT count(body) FROM messages") == [(0,)]


async def test_stop_leaves_unknown_turns_to_their_owner(path: Path) -> None:
    (unknown,) = await leave_unknown(path, "a", followers=1)
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, commands("s", StopEverything()))
        (paused,) = await ledger.queue.paused()
    assert paused == PausedTurn(turn=unknown.turn, lane=unknown.lane, generation=unknown.generation)


@pytest.mark.requirement("recovery.unknown_pauses_lane")
async def test_input_to_a_paused_lane_is_admitted_and_waits(path: Path) -> None:
    await leave_unknown(path, "a")
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("2", chat="a"))
        assert (await ledger.turns.claim(limit=9, channels=SERVED)).turns == ()
        assert (await ledger.queue.counts()).waiting == 1


@pytest.mark.requirement("command.new.on_paused_lane")
async def test_new_on_a_paused_lane_discards_and_the_followers_run_in_the_new_window(path: Path) -> None:
    (unknown,) = await leave_unknown(path, "a", followers=1)
    async with an_owned_ledger(path) as ledger:
        effect = await effect_of(ledger, "n", OpenWindow(), chat="a")
        following = await claim_one(ledger)
        old = await ledger.conversations.history(unknown.lane, window=0)
    assert effect == WindowOpened(discarded=unknown.turn)
    assert (following.window, following.messages[0].message.key) == (1, "a-0")
    assert old == (UserEntry(text="do a"), MarkerEntry(text=DISCARDED_MARKER))


async def test_new_leaves_waiting_turns_and_other_lanes_alone(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit([says("1", chat="a"), says("2", chat="b")])
        assert await effect_of(ledger, "n", OpenWindow(), chat="a") == WindowOpened()
        claimed = (await ledger.turns.claim(limit=9, channels=SERVED)).turns
    assert [(turn.messages[0].message.key, turn.window) for turn in claimed] == [("1", 1), ("2", 0)]


@pytest.mark.requirement("recovery.discard_resolves")
async def test_discard_without_an_id_takes_the_oldest_of_all_lanes(path: Path) -> None:
    first, second = await leave_unknown(path, "a", "b", followers=1)
    async with an_owned_ledger(path) as ledger:
        assert await effect_of(ledger, "d1", Discard()) == Resolved(turn=first.turn)
        following = await claim_one(ledger)
        assert await effect_of(ledger, "d2", Discard(turn=first.turn)) == NothingToResolve()
        assert await effect_of(ledger, "d3", Discard(turn=following.turn)) == NothingToResolve()
        assert await effect_of(ledger, "d4", Discard(turn=second.turn)) == Resolved(turn=second.turn)
        assert await effect_of(ledger, "d5", Discard()) == NothingToResolve()
        assert await effect_of(ledger, "d6", Discard(turn=TurnId(99))) == NothingToResolve()
    assert following.messages[0].message.key == "a-0"


@pytest.mark.requirement("recovery.retry_resolves")
async def test_a_retried_unknown_turn_runs_at_its_place_with_fresh_attempts(path: Path) -> None:
    (unknown,) = await leave_unknown(path, "a", followers=1)
    async with an_owned_ledger(path) as ledger:
        effect = await effect_of(ledger, "r", RetryTurn())
        again = await claim_one(ledger)
    assert effect == Resolved(turn=unknown.turn, queued_as=unknown.turn)
    assert (again.turn, again.attempts) == (unknown.turn, 1)
    assert again.generation > unknown.generation


async def test_a_retried_turn_that_dies_again_before_its_effect_is_replayed(path: Path) -> None:
    (unknown,) = await leave_unknown(path, "a")
    async with an_owned_ledger(path) as ledger:
        await effect_of(ledger, "r", RetryTurn())
        await claim_one(ledger)
    async with an_owned_ledger(path) as ledger:
        assert (await ledger.ownership.recover(channels=SERVED)).replayed == (unknown.turn,)


async def test_a_retried_failed_turn_is_a_new_one_at_its_lanes_end(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit([says("1", "first"), says("2")])
        failed = await claim_one(ledger)
        await ledger.turns.settle(failure(failed))
        effect = await effect_of(ledger, "r", RetryTurn(turn=failed.turn))
        assert isinstance(effect, Resolved)
        twice = await effect_of(ledger, "r2", RetryTurn(turn=failed.turn))
        offered_again = await ledger.admissions.admit([says("1", "first")])
        between = await claim_one(ledger)
        await ledger.turns.settle(answer(between))
        again = await claim_one(ledger)
    assert effect.turn == failed.turn
    assert twice == NothingToResolve()
    assert type(offered_again[0]).__name__ == "Duplicate"
    assert between.messages[0].message.key == "2"
    assert (again.turn, again.messages[0].message.text) == (effect.queued_as, "first")


async def test_a_turn_whose_text_is_gone_cannot_be_retried(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1"))
        failed = await claim_one(ledger)
        await ledger.turns.settle(replace(failure(failed), keep_bodies=False))
        assert await effect_of(ledger, "r", RetryTurn(turn=failed.turn)) == NothingToResolve()


@pytest.mark.parametrize("work", [Discard(), RetryTurn()])
async def test_what_an_unknown_turn_still_wanted_to_send_does_not_leave(
    path: Path, work: Discard | RetryTurn
) -> None:
    async with an_owned_ledger(path) as ledger:
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
        await ledger.turns.begin_effect(effect)
    async with an_owned_ledger(path) as ledger:
        recovered = await ledger.ownership.recover(channels=SERVED)
        await effect_of(ledger, "c", work)
        notice = await ledger.outbox.done(recovered.parts[0].part, Sent())
    assert notice is not None
    assert notice.body == TextPart(text=PAUSED)
    assert ask_file(path, "SELECT state FROM outbox WHERE turn IS NOT NULL") == [("withdrawn",)]


async def test_a_paused_turn_is_discarded_by_its_generation_only(path: Path) -> None:
    (unknown,) = await leave_unknown(path, "a")
    async with an_owned_ledger(path) as ledger:
        (paused,) = await ledger.queue.paused()
        with pytest.raises(StaleTurn):
            await ledger.ownership.discard(replace(paused, generation=Generation(99)))
        await ledger.ownership.discard(paused)
        with pytest.raises(StaleTurn):
            await ledger.ownership.discard(paused)
        history = await ledger.conversations.history(unknown.lane, window=0)
        assert await ledger.queue.paused() == ()
    assert history == (UserEntry(text="do a"), MarkerEntry(text=DISCARDED_MARKER))

"""Checks of commands: one cut through everything, new windows, and what the owner does with lost turns."""

from fermix.application.ports.admissions import (
    Accepted,
    Discard,
    DoOutside,
    Duplicate,
    NothingToResolve,
    OpenWindow,
    Resolved,
    RetryTurn,
    StopEverything,
    Stopped,
    StopReport,
    ToBeDone,
    WindowOpened,
)
from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.ownership import PausedTurn
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain import wording
from fermix.domain.delivery import TextPart
from fermix.domain.history import AssistantEntry, MarkerEntry, UserEntry
from fermix.domain.ids import Generation
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome, TurnState
from fermix.testing.expectations import must_be, must_equal, must_refuse
from fermix.testing.ledger_checks.check import (
    SERVED,
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
from fermix.testing.samples import answering, asking, commanding, failing, written


async def leave_one_lost(harness: LedgerHarness, *followers: str) -> ClaimedTurn:
    """Let a process die in the middle of a turn that did something, with others waiting behind it."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger, "lost")
        await ledger.turns.begin_effect(effect(claimed, Repeat.UNSAFE))
        for key in followers:
            await ask(ledger, key)
        await harness.kill()
    return claimed


@proves("command.ledger_work_commits_with_row", "command.ahead_of_queue")
async def a_stop_is_one_cut(harness: LedgerHarness) -> None:
    """A stop ends all before it, in all conversations and in its own list, and nothing after it."""
    async with owned(harness) as ledger:
        running = await asked_and_claimed(ledger, "1")
        album = await admit(ledger, asking(written("2", chat="8"), album="a"))
        (before, stop, after) = await ledger.admissions.admit(
            [
                asking(written("3", "asked 3")),
                commanding(written("4", "/stop", chat="9"), StopEverything()),
                asking(written("5", "asked 5")),
            ]
        )
        waiting = must_be(before, Accepted, "a message before the stop").turn
        done = must_be(stop, Accepted, "the stop")
        report = StopReport(
            running=(running.turn,),
            waiting=tuple(turn for turn in (album.turn, waiting) if turn is not None),
            waiting_messages=2,
        )
        must_equal(done.effect, Stopped(report=report), "what the stop ended")
        must_be(after, Accepted, "a message after the stop")
        must_equal(keys([await claim_one(ledger)]), [["5"]], "what is left")
        for key, outcome in (("1", Outcome.INTERRUPTED), ("2", Outcome.CANCELLED), ("3", Outcome.CANCELLED)):
            await must_stand(ledger, key, TurnState.SETTLED, outcome)
        stopped = (UserEntry(text="asked 1"), MarkerEntry(text=wording.STOPPED_MARKER))
        must_equal(await remembered(ledger), stopped, "the history")


@proves("command.has_a_row_first")
async def a_stop_stays_and_is_said_once(harness: LedgerHarness) -> None:
    """After a power cut right behind it, a stop holds, its reply leaves, and its repeat runs nothing."""
    async with owned(harness) as ledger:
        answered = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "one", "two"))
        must_equal(texts(answered), ["one"], "what was on its way")
        running = await asked_and_claimed(ledger, "2")
        stop = commanding(written("3", "/stop"), StopEverything())
        must_equal(texts((await admit(ledger, stop)).parts), ["Stopped"], "the reply")
        await harness.cut_power()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal((recovered.replayed, recovered.interrupted), ((), ()), "turns put right")
        must_equal(await deliver(ledger, recovered.parts), ["Stopped"], "what leaves")
        await ask(ledger, "4")
        must_be((await ledger.admissions.admit([stop]))[0], Duplicate, "the stop again")
        must_equal(keys([await claim_one(ledger)]), [["4"]], "what runs")
        await must_stand(ledger, "2", TurnState.SETTLED, Outcome.INTERRUPTED)
        must_equal(running.attempts, 1, "the stopped claim")


@proves()
async def a_new_window_starts_empty(harness: LedgerHarness) -> None:
    """After `/new` history is empty; a turn that was running keeps the window it was claimed in."""
    async with owned(harness) as ledger:
        running = await asked_and_claimed(ledger, "1")
        opened = await admit(ledger, commanding(written("2", "/new"), OpenWindow()))
        must_equal(opened.effect, WindowOpened(), "what the command did")
        await ledger.turns.settle(answering(running, "old"))
        next_turn = await asked_and_claimed(ledger, "3")
        must_equal((running.window, next_turn.window), (0, 1), "windows")
        await ledger.turns.settle(answering(next_turn, "new"))
        for window, key, text in ((0, "1", "old"), (1, "3", "new")):
            entries = (UserEntry(text=f"asked {key}"), AssistantEntry(text=text))
            must_equal(await remembered(ledger, window=window), entries, f"history of window {window}")


@proves("command.new.on_paused_lane")
async def a_new_window_on_a_paused_lane_discards(harness: LedgerHarness) -> None:
    """`/new` on a paused lane discards the lost turn and lets its followers run in the new window."""
    lost = await leave_one_lost(harness, "follower")
    async with owned(harness) as ledger:
        await recover(ledger)
        opened = await admit(ledger, commanding(written("2", "/new"), OpenWindow()))
        must_equal(opened.effect, WindowOpened(discarded=lost.turn), "what the command did")
        follower = await claim_one(ledger)
        must_equal((keys([follower]), follower.window), ([["follower"]], 1), "what runs")
        await must_stand(ledger, "lost", TurnState.SETTLED, Outcome.INTERRUPTED)


@proves("recovery.discard_resolves")
async def a_discarded_turn_is_over(harness: LedgerHarness) -> None:
    """Discarding a lost turn ends it with a marker in history, and its followers run."""
    lost = await leave_one_lost(harness, "follower")
    async with owned(harness) as ledger:
        await recover(ledger)
        done = await admit(ledger, commanding(written("2", "/discard", chat="9"), Discard()))
        must_equal(done.effect, Resolved(turn=lost.turn), "what the command did")
        must_equal(keys([await claim_one(ledger)]), [["follower"]], "what runs")
        discarded = (UserEntry(text="asked lost"), MarkerEntry(text=wording.DISCARDED_MARKER))
        must_equal(await remembered(ledger), discarded, "the history")
        again = await admit(ledger, commanding(written("3", "/discard"), Discard(turn=lost.turn)))
        must_equal(again.effect, NothingToResolve(), "discarding it again")


@proves("recovery.discard_resolves")
async def the_owner_discards_what_was_seen(harness: LedgerHarness) -> None:
    """A discard that names an older claim of the turn is refused; the right one ends it."""
    await leave_one_lost(harness)
    async with owned(harness) as ledger:
        await recover(ledger)
        (paused,) = await ledger.queue.paused()
        older = PausedTurn(turn=paused.turn, lane=paused.lane, generation=Generation(paused.generation - 1))
        with must_refuse(StaleTurn, "discarding an older claim"):
            await ledger.ownership.discard(older)
        await ledger.ownership.discard(paused)
        with must_refuse(StaleTurn, "discarding twice"):
            await ledger.ownership.discard(paused)
        must_equal(await ledger.queue.paused(), (), "what waits for its owner")


@proves("recovery.retry_resolves")
async def a_lost_turn_runs_again_at_its_place(harness: LedgerHarness) -> None:
    """Retrying a lost turn queues it before its followers, with its attempts counted from nothing."""
    lost = await leave_one_lost(harness, "follower")
    async with owned(harness) as ledger:
        await recover(ledger)
        done = await admit(ledger, commanding(written("2", "/retry"), RetryTurn()))
        must_equal(done.effect, Resolved(turn=lost.turn, queued_as=lost.turn), "what the command did")
        again = await claim_one(ledger)
        must_equal((keys([again]), again.attempts), ([["lost"]], 1), "what runs")
        await ledger.turns.settle(answering(again, "answer"))
        must_equal(keys([await claim_one(ledger)]), [["follower"]], "what runs next")


@proves()
async def a_failed_turn_runs_again_as_a_new_one(harness: LedgerHarness) -> None:
    """A failed turn is retried once, at its lane's end, and its message's key then names the new turn."""
    async with owned(harness) as ledger:
        failed = await asked_and_claimed(ledger, "1")
        await ledger.turns.settle(failing(failed))
        retry = RetryTurn(turn=failed.turn)
        done = must_be((await admit(ledger, commanding(written("2"), retry))).effect, Resolved, "the retry")
        must_equal((done.turn, done.queued_as == failed.turn), (failed.turn, False), "a new turn")
        (duplicate,) = await ledger.admissions.admit([asking(written("1", "asked 1"))])
        must_equal(must_be(duplicate, Duplicate, "the key").turn, done.queued_as, "the turn of the key")
        twice = await admit(ledger, commanding(written("3"), retry))
        must_equal(twice.effect, NothingToResolve(), "retrying it again")
        must_equal(keys(await claim_all(ledger)), [["1"]], "what runs")


@proves("command.outside_work_is_reported_not_repeated")
async def a_command_outside_is_reported_once(harness: LedgerHarness) -> None:
    """A command that works outside answers when it is done; cut off before, it is reported once."""
    async with owned(harness) as ledger:
        finished = await admit(ledger, commanding(written("1", "/one"), DoOutside()))
        must_equal((finished.effect, finished.parts), (ToBeDone(), ()), "before it is done")
        parts = await ledger.admissions.finish_command(finished.row, [TextPart(text="done")])
        must_equal(await deliver(ledger, parts), ["done"], "its reply")
        must_equal(
            await ledger.admissions.finish_command(finished.row, [TextPart(text="again")]),
            (),
            "a second reply",
        )
        await admit(ledger, commanding(written("2", "/two now"), DoOutside()))
        await harness.cut_power()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal(recovered.commands, 1, "commands that were cut off")
        must_equal(await deliver(ledger, recovered.parts), [wording.restarted_during("two")], "the report")
        await harness.kill()
    async with owned(harness) as ledger:
        must_equal((await recover(ledger)).commands, 0, "commands reported again")
        must_equal((await ledger.outbox.due(channels=SERVED, limit=9)).parts, (), "what leaves again")


CHECKS: tuple[LedgerCheck, ...] = (
    a_stop_is_one_cut,
    a_stop_stays_and_is_said_once,
    a_new_window_starts_empty,
    a_new_window_on_a_paused_lane_discards,
    a_discarded_turn_is_over,
    the_owner_discards_what_was_seen,
    a_lost_turn_runs_again_at_its_place,
    a_failed_turn_runs_again_as_a_new_one,
    a_command_outside_is_reported_once,
)

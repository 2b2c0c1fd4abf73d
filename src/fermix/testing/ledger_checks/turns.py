"""Checks of the middle: claims, media, fairness, settlement, giving back."""

from collections.abc import Awaitable, Callable

from fermix.application.ports.admissions import RetryTurn, StopEverything
from fermix.application.ports.ledger_errors import LedgerError, StaleTurn
from fermix.application.ports.turns import PreparedMedia
from fermix.domain.authorization import Trust
from fermix.domain.blob import BlobRef
from fermix.domain.capability import OnlyNames, Scope
from fermix.domain.history import AssistantEntry, MarkerEntry, UserEntry
from fermix.domain.incoming_media import FileKept, MediaFailed, MediaProblem, Transcribed
from fermix.domain.message import AttachmentKind
from fermix.domain.recovery import Repeat
from fermix.domain.turn import Outcome, TurnState
from fermix.testing.expectations import must_equal, must_refuse
from fermix.testing.ledger_checks.check import (
    SERVED,
    LedgerCheck,
    admit,
    ask,
    asked_and_claimed,
    claim_all,
    claim_one,
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
from fermix.testing.samples import LOCAL, REMOTE, answering, asking, commanding, failing, written


@proves()
async def a_lane_runs_its_turns_one_by_one(harness: LedgerHarness) -> None:
    """The turns of a conversation start in order of arrival, each after the one before has ended."""
    async with owned(harness) as ledger:
        for key in ("1", "2", "3"):
            await ask(ledger, key)
        order = []
        for _ in range(3):
            claimed = await claim_one(ledger)
            must_equal(await claim_all(ledger), (), "turns beside a running one")
            order += keys([claimed])
            await ledger.turns.settle(answering(claimed, "answer"))
        must_equal(order, [["1"], ["2"], ["3"]], "the order of turns")


@proves()
async def lanes_do_not_wait_for_each_other(harness: LedgerHarness) -> None:
    """Heads of several lanes start at once, as many as were asked for."""
    async with owned(harness) as ledger:
        for chat in ("7", "8", "9"):
            await ask(ledger, chat, chat=chat)
        must_equal(keys(await claim_all(ledger, limit=2)), [["7"], ["8"]], "two of three")
        must_equal(keys(await claim_all(ledger, limit=2)), [["9"]], "the third")


@proves("lane.fair_between_conversations")
async def a_long_queue_does_not_hold_others_back(harness: LedgerHarness) -> None:
    """Lanes that were served least recently come first, however much waits in another one."""
    async with owned(harness) as ledger:
        for key in ("a1", "a2", "a3"):
            await ask(ledger, key, chat="a")
        for key in ("b1", "b2"):
            await ask(ledger, key, chat="b")
        order = []
        for _ in range(5):
            (claimed,) = await claim_all(ledger, limit=1)
            order.append(claimed.messages[0].message.key)
            await ledger.turns.settle(answering(claimed))
        must_equal(order, ["a1", "b1", "a2", "b2", "a3"], "the order of turns with one slot")


@proves("lane.table_is_the_queue")
async def a_new_process_finds_what_waits(harness: LedgerHarness) -> None:
    """What waits is found by the next owner, without having been told."""
    async with owned(harness) as ledger:
        await ask(ledger, "1")
        await harness.kill()
    async with owned(harness) as ledger:
        must_equal(keys([await claim_one(ledger)]), [["1"]], "what waited")


@proves("lane.head_in_preparation_holds_lane")
async def media_in_preparation_holds_its_lane(harness: LedgerHarness) -> None:
    """A head whose media is not prepared is not claimed and lets nothing overtake it; other lanes go on."""
    async with owned(harness) as ledger:
        head = await admit(ledger, asking(written("1"), media=2))
        await ask(ledger, "2")
        await ask(ledger, "3", chat="8")
        must_equal(keys(await claim_all(ledger)), [["3"]], "what can start")
        media = (
            PreparedMedia(position=0, result=FileKept(content=BlobRef(digest="ab" * 32, size_bytes=7))),
            PreparedMedia(
                position=1,
                result=MediaFailed(problem=MediaProblem.NOT_FETCHED, kind=AttachmentKind.FILE),
            ),
        )
        await ledger.media.prepared(head.row, media[1])
        must_equal(await claim_all(ledger), (), "a head half prepared")
        await ledger.media.prepared(head.row, media[0])
        await ledger.media.prepared(head.row, PreparedMedia(position=0, result=Transcribed(text="second")))
        claimed = await claim_one(ledger)
        must_equal(claimed.messages[0].media, media, "what preparation made, first results first to stay")


@proves()
async def only_served_channels_are_claimed(harness: LedgerHarness) -> None:
    """A process claims the turns of the channels it serves and leaves the others alone."""
    async with owned(harness) as ledger:
        await ask(ledger, "1", channel=REMOTE)
        await ask(ledger, "2", channel=LOCAL)
        claims = await ledger.turns.claim(limit=4, channels=frozenset({LOCAL}))
        must_equal(keys(claims.turns), [["2"]], "what a local owner claims")
        must_equal(keys(await claim_all(ledger)), [["1"]], "what is left for the others")


@proves("snapshot.stored_with_the_turn")
async def a_claim_says_all_its_turn_needs(harness: LedgerHarness) -> None:
    """A claim carries message, target, trust and the lowest scope of its messages."""
    scope = Scope(trust=Trust.OPERATOR, narrowing=(OnlyNames(names=frozenset({"read"})),))
    message = written("1", "words")
    item = asking(message)
    async with owned(harness) as ledger:
        accepted = await admit(
            ledger,
            type(item)(message=message, route=item.route, target=item.target, trust=item.trust, scope=scope),
        )
        claimed = await claim_one(ledger)
        must_equal(claimed.scope, scope, "the scope")
        must_equal(
            (claimed.turn, claimed.lane, claimed.route), (accepted.turn, accepted.lane, item.route), "ids"
        )
        (only,) = claimed.messages
        must_equal((only.message, only.target, only.trust), (message, item.target, item.trust), "the message")
        must_equal((claimed.attempts, claimed.window, claimed.awaited), (1, 0, False), "the claim")


@proves("recovery.attempt_counted_before_run")
async def an_attempt_is_counted_before_it_runs(harness: LedgerHarness) -> None:
    """A claim survives the kill of the process it was made by, so that the next one counts it."""
    async with owned(harness) as ledger:
        await asked_and_claimed(ledger)
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal((await claim_one(ledger)).attempts, 2, "claims so far")


@proves("settle.one_transaction", "settle.history_is_whole")
async def a_settlement_commits_everything_at_once(harness: LedgerHarness) -> None:
    """Outcome, history and reply of a turn survive a power cut together."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        parts = await ledger.turns.settle(answering(claimed, "one", "two"))
        must_equal(texts(parts), ["one"], "what to send now")
        await harness.cut_power()
    async with owned(harness) as ledger:
        await must_stand(ledger, "1", TurnState.SETTLED, Outcome.COMPLETED)
        history = (UserEntry(text="asked 1"), AssistantEntry(text="one"), AssistantEntry(text="two"))
        must_equal(await remembered(ledger), history, "the history")
        recovered = await recover(ledger)
        must_equal(texts(recovered.parts), ["one"], "the part that was on its way")
        must_equal((await ledger.queue.counts()).open_parts, 2, "parts not yet delivered")


@proves("recovery.late_settlement_is_refused", "settle.stopped_turn_says_nothing")
async def a_stopped_turn_can_write_nothing(harness: LedgerHarness) -> None:
    """After a stop the turn's settlement, effects and release are refused and leave nothing behind."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        await ledger.turns.begin_effect(effect(claimed, Repeat.UNSAFE))
        await admit(ledger, commanding(written("2", "/stop"), StopEverything()))
        turn, generation = claimed.turn, claimed.generation
        before = await remembered(ledger)
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "settling": lambda: ledger.turns.settle(answering(claimed, "late")),
            "an effect": lambda: ledger.turns.begin_effect(effect(claimed, Repeat.UNSAFE, step=1)),
            "its end": lambda: ledger.turns.end_effect(turn, generation=generation, step=0, outcome="done"),
            "release": lambda: ledger.turns.release(turn, generation=generation),
        }
        for about, call in calls.items():
            with must_refuse(StaleTurn, f"{about} after a stop"):
                await call()
        must_equal(await remembered(ledger), before, "history after the refusals")
        await must_stand(ledger, "1", TurnState.SETTLED, Outcome.INTERRUPTED)


@proves("recovery.late_settlement_is_refused")
async def an_older_claim_can_write_nothing(harness: LedgerHarness) -> None:
    """What a claim writes after its turn was claimed anew is refused; so is a second settlement."""
    async with owned(harness) as ledger:
        old = await asked_and_claimed(ledger)
        must_equal(await ledger.turns.release(old.turn, generation=old.generation), True, "release")
        new = await claim_one(ledger)
        must_equal(new.generation > old.generation, True, "a newer generation")
        with must_refuse(StaleTurn, "settling an older claim"):
            await ledger.turns.settle(answering(old, "late"))
        await ledger.turns.settle(answering(new, "answer"))
        with must_refuse(StaleTurn, "settling twice"):
            await ledger.turns.settle(answering(new, "again"))
        must_equal(len(await remembered(ledger)), 2, "lines of history")


@proves("recovery.journal_keeps_intent_and_outcome")
async def a_step_is_journalled_once(harness: LedgerHarness) -> None:
    """A step of a claim is journalled once; a second intent for it is refused, and its call must not run."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        await ledger.turns.begin_effect(effect(claimed, Repeat.UNSAFE))
        with must_refuse(LedgerError, "the same step again"):
            await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT))
        await ledger.turns.settle(answering(claimed, "answer"))


@proves()
async def payloads_are_kept_for_failed_turns_only(harness: LedgerHarness) -> None:
    """An answered turn cannot be run again; a failed one becomes a new turn at the end of its lane."""
    async with owned(harness) as ledger:
        answered = await asked_and_claimed(ledger, "1")
        await ledger.turns.settle(answering(answered, "answer"))
        failed = await asked_and_claimed(ledger, "2")
        await ledger.turns.settle(failing(failed))
        await ask(ledger, "3")
        for number, turn in enumerate((answered.turn, failed.turn)):
            await admit(ledger, commanding(written(f"retry {number}", "/retry"), RetryTurn(turn=turn)))
        order = []
        for _ in range(2):
            claimed = await claim_one(ledger)
            order += keys([claimed])
            await ledger.turns.settle(answering(claimed))
        must_equal(order, [["3"], ["2"]], "what runs")
        must_equal(await claim_all(ledger), (), "what else runs")


@proves()
async def a_released_turn_goes_back_to_its_place(harness: LedgerHarness) -> None:
    """A turn given back waits at its old place, its attempt was none, and a draft of it is no effect."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        await ask(ledger, "2")
        await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT))
        await ledger.turns.end_effect(claimed.turn, generation=claimed.generation, step=0, outcome="draft")
        must_equal(await ledger.turns.release(claimed.turn, generation=claimed.generation), True, "release")
        must_equal((await ledger.queue.counts()).waiting, 2, "messages that wait")
        again = await claim_one(ledger)
        must_equal((keys([again]), again.attempts, again.drafts), ([["1"]], 1, ("draft",)), "the next claim")


@proves()
async def what_had_an_effect_or_is_awaited_is_not_released(harness: LedgerHarness) -> None:
    """A turn with a journalled effect, or one somebody waits for, stays as it is."""
    async with owned(harness) as ledger:
        acted = await asked_and_claimed(ledger)
        await ledger.turns.begin_effect(effect(acted, Repeat.UNSAFE))
        await admit(ledger, asking(written("2", chat="8"), awaited=True))
        awaited = await claim_one(ledger)
        for claimed in (acted, awaited):
            released = await ledger.turns.release(claimed.turn, generation=claimed.generation)
            must_equal(released, False, "release")
            await ledger.turns.settle(answering(claimed, "answer"))


@proves()
async def an_asker_who_leaves_ends_the_turn(harness: LedgerHarness) -> None:
    """Cancelling ends a waiting turn without a trace, a started one with a marker, an ended one not again."""
    async with owned(harness) as ledger:
        started = await asked_and_claimed(ledger, "1")
        waiting = await ask(ledger, "2")
        if waiting.turn is not None:
            must_equal(await ledger.turns.cancel(waiting.turn), True, "cancelling what waits")
        await must_stand(ledger, "2", TurnState.SETTLED, Outcome.CANCELLED)
        must_equal(await ledger.turns.cancel(started.turn), True, "cancelling what runs")
        await must_stand(ledger, "1", TurnState.SETTLED, Outcome.INTERRUPTED)
        must_equal(await ledger.turns.cancel(started.turn), False, "cancelling again")
        question, marker = await remembered(ledger)
        must_equal((question, type(marker)), (UserEntry(text="asked 1"), MarkerEntry), "the history")
        must_equal((await ledger.turns.claim(limit=1, channels=SERVED)).turns, (), "what is left")


CHECKS: tuple[LedgerCheck, ...] = (
    a_lane_runs_its_turns_one_by_one,
    lanes_do_not_wait_for_each_other,
    a_long_queue_does_not_hold_others_back,
    a_new_process_finds_what_waits,
    media_in_preparation_holds_its_lane,
    only_served_channels_are_claimed,
    a_claim_says_all_its_turn_needs,
    an_attempt_is_counted_before_it_runs,
    a_settlement_commits_everything_at_once,
    a_stopped_turn_can_write_nothing,
    an_older_claim_can_write_nothing,
    a_step_is_journalled_once,
    payloads_are_kept_for_failed_turns_only,
    a_released_turn_goes_back_to_its_place,
    what_had_an_effect_or_is_awaited_is_not_released,
    an_asker_who_leaves_ends_the_turn,
)

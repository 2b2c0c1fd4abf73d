"""Checks of chats that go on under another id: nothing that is under way gets lost, and history goes on."""

from dataclasses import replace

from fermix.application.ports.admissions import Discard, DoOutside, OpenWindow, Resolved, Say, WindowOpened
from fermix.application.ports.outbox import NotDelivered, Sent
from fermix.domain.delivery import TextPart
from fermix.domain.history import AssistantEntry, UserEntry
from fermix.domain.ids import AccountId, ChatId, PlatformMessageId, ThreadId
from fermix.domain.recovery import Repeat
from fermix.domain.route import ChatMove, Route
from fermix.testing.expectations import PromiseBroken, must_equal
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
    owned,
    proves,
    recover,
    remembered,
    texts,
)
from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.samples import REMOTE, answering, asking, commanding, written

NEW = "7000"


def moved(old: str = "7", new: str = NEW) -> ChatMove:
    """The chat of the suite under its new id."""
    return ChatMove(channel=REMOTE, account=AccountId("bot"), old=ChatId(old), new=ChatId(new))


def said(*texts: str) -> tuple[UserEntry | AssistantEntry, ...]:
    """Questions of the suite, each with its answer."""
    return tuple(
        entry
        for text in texts
        for entry in (UserEntry(text=f"asked {text}"), AssistantEntry(text=f"to {text}"))
    )


@proves()
async def a_moved_chat_goes_on_where_it_was(harness: LedgerHarness) -> None:
    """What is written under the new id, or late under the old one, continues the conversation, in order."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger, "1")
        await ledger.turns.settle(answering(claimed, "to 1"))
        await ask(ledger, "2")
        must_equal(await ledger.admissions.move_chat(moved()), True, "a move of a known chat")
        later = await ask(ledger, "3", chat=NEW)
        late = await ask(ledger, "4")
        must_equal({later.lane, late.lane}, {claimed.lane}, "the conversations written to")
        must_equal(keys(await claim_all(ledger)), [["2"]], "what starts first")
        must_equal(await remembered(ledger, chat=NEW), said("1"), "the history under the new id")
        (only,) = await ledger.conversations.summaries()
        must_equal(only.route.chat, NEW, "where the conversation is now")


@proves()
async def what_is_to_be_sent_goes_to_the_new_chat(harness: LedgerHarness) -> None:
    """Parts on their way, waiting ones, and those of a turn that was running leave for the new id, in order."""
    async with owned(harness) as ledger:
        (first,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "one", "two"))
        running = await asked_and_claimed(ledger, "2")
        await ask(ledger, "3")
        await ledger.admissions.move_chat(moved())
        second = await ledger.outbox.done(first.part, Sent())
        if second is None:
            raise PromiseBroken("nothing follows the part that was on its way")
        must_equal((second.target.chat, second.target.reply_to), (NEW, None), "where the second part goes")
        must_equal(await ledger.turns.settle(answering(running, "three")), (), "a reply behind it")
        claimed = await claim_one(ledger)
        must_equal(claimed.messages[0].target.chat, NEW, "where a waiting turn replies to")
        await ledger.turns.settle(answering(claimed, "four"))
        must_equal(await deliver(ledger, [second]), ["two", "three", "four"], "the order of parts")


@proves()
async def a_part_that_arrived_elsewhere_moves_its_chat(harness: LedgerHarness) -> None:
    """The end of a part that says where it arrived moves the chat in the same commit."""
    async with owned(harness) as ledger:
        (first,) = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "one", "two"))
        second = await ledger.outbox.done(first.part, Sent(moved_to=ChatId(NEW)))
        must_equal(second is not None and second.target.chat, NEW, "where the next part goes")
        must_equal(len(await remembered(ledger, chat=NEW)), 3, "entries under the new id")
        must_equal(await ledger.admissions.move_chat(moved()), False, "the same move told again")


@proves()
async def a_pause_moves_with_its_chat(harness: LedgerHarness) -> None:
    """A lane that waits for its owner still does under the new id, and is told of there."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger, "1")
        await ledger.turns.begin_effect(effect(claimed, Repeat.UNSAFE))
        await ledger.admissions.move_chat(moved())
        await harness.kill()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal(
            (recovered.unknown, [part.target.chat for part in recovered.parts]),
            ((claimed.turn,), [NEW]),
            "the pause",
        )
        await ask(ledger, "2", chat=NEW)
        must_equal(await claim_all(ledger), (), "what starts behind it")
        done = await admit(ledger, commanding(written("3", "/discard", chat="8"), Discard()))
        must_equal(done.effect, Resolved(turn=claimed.turn), "the owner's word")
        must_equal(keys(await claim_all(ledger)), [["2"]], "what starts then")


@proves()
async def a_move_outlives_a_power_cut(harness: LedgerHarness) -> None:
    """A move is durable, and what comes late under the old id finds it after a restart."""
    async with owned(harness) as ledger:
        await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "to 1"))
        await ledger.admissions.move_chat(moved())
        await harness.cut_power()
    async with owned(harness) as ledger:
        recovered = await recover(ledger)
        must_equal([part.target.chat for part in recovered.parts], [NEW], "where the reply goes")
        accepted = await admit(ledger, commanding(written("2", "/status"), DoOutside()))
        parts = await ledger.admissions.finish_command(accepted.row, ())
        must_equal(parts, (), "a reply without parts")
        await ask(ledger, "3")
        must_equal(await remembered(ledger, chat=NEW), said("1"), "the history under the new id")
        must_equal((await claim_one(ledger)).route.chat, NEW, "the route of the next turn")


@proves()
async def moving_again_changes_nothing(harness: LedgerHarness) -> None:
    """A move told twice, one of a chat nobody knows, and one to the same id change nothing; moves may follow."""
    async with owned(harness) as ledger:
        await ask(ledger, "1")
        told = [await ledger.admissions.move_chat(each) for each in (moved("8"), moved("7", "7"))]
        must_equal(told, [False, False], "moves of nothing")
        must_equal(await ledger.admissions.move_chat(moved()), True, "a move")
        must_equal(await ledger.admissions.move_chat(moved()), False, "the same again")
        must_equal(await ledger.admissions.move_chat(moved(NEW, "7001")), True, "a second move")
        first, late = await ask(ledger, "2", chat="7001"), await ask(ledger, "3")
        must_equal(first.lane == late.lane, True, "the conversation of the first id is that of the last")
        must_equal(await ledger.admissions.move_chat(moved("7001", "7")), True, "a move back")
        must_equal((await ask(ledger, "4")).lane, first.lane, "the conversation it came from")


@proves()
async def threads_move_with_their_chat_and_strangers_do_not(harness: LedgerHarness) -> None:
    """Each thread's conversation moves; chats whose ids only begin alike stay."""
    async with owned(harness) as ledger:
        threaded = asking(written("1"))
        route = Route(channel=REMOTE, account=AccountId("bot"), chat=ChatId("7"), thread=ThreadId("5"))
        inside = await admit(ledger, replace(threaded, route=route))
        beside = await ask(ledger, "2", chat="70")
        await ledger.admissions.move_chat(moved())
        there = Route(channel=REMOTE, account=AccountId("bot"), chat=ChatId(NEW), thread=ThreadId("5"))
        must_equal(await ledger.conversations.lane_of(there), inside.lane, "the thread's conversation")
        must_equal((await ask(ledger, "3", chat="70")).lane, beside.lane, "another chat's conversation")


@proves()
async def two_conversations_become_one(harness: LedgerHarness) -> None:
    """What the new chat has already is appended to the older conversation as it was written, windows kept."""
    async with owned(harness) as ledger:
        for key, chat in (("1", "7"), ("2", NEW)):
            await ledger.turns.settle(answering(await asked_and_claimed(ledger, key, chat=chat), f"to {key}"))
        new = await admit(ledger, commanding(written("3", "/new", chat=NEW), OpenWindow()))
        must_equal(new.effect, WindowOpened(), "a new window in the new chat")
        await ask(ledger, "4", chat=NEW)
        await ask(ledger, "5")
        await ledger.admissions.move_chat(moved())
        must_equal(await remembered(ledger, chat=NEW), said("1", "2"), "the history before the new window")
        claimed = await claim_one(ledger)
        must_equal((keys([claimed]), claimed.window), ([["4"]], 1), "what starts first")
        await ledger.turns.settle(answering(claimed, "to 4"))
        must_equal(keys([await claim_one(ledger)]), [["5"]], "what starts then")
        must_equal(await remembered(ledger, chat=NEW, window=1), said("4"), "the history after it")
        must_equal(len(await ledger.conversations.summaries()), 1, "conversations")


@proves()
async def joining_waits_for_what_runs(harness: LedgerHarness) -> None:
    """While a turn of the new chat's own conversation runs the two stay apart; a later claim joins them."""
    async with owned(harness) as ledger:
        await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "to 1"))
        running = await asked_and_claimed(ledger, "2", chat=NEW)
        await ledger.admissions.move_chat(moved())
        must_equal((await ask(ledger, "3", chat=NEW)).lane, running.lane, "while it runs")
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        again = await claim_one(ledger)
        must_equal(keys([again]), [["2"]], "the turn that ran")
        await ledger.turns.settle(answering(again, "to 2"))
        must_equal(keys([await claim_one(ledger)]), [["3"]], "what follows it")
        must_equal(await remembered(ledger, chat=NEW), said("1", "2"), "the history")


@proves()
async def a_moved_chat_has_one_part_on_its_way_at_last(harness: LedgerHarness) -> None:
    """Where both chats had parts on their way, every one is handed out, none twice, and all reach their end."""
    async with owned(harness) as ledger:
        old = await ledger.turns.settle(answering(await asked_and_claimed(ledger, "1"), "one", "two"))
        new = await ledger.turns.settle(
            answering(await asked_and_claimed(ledger, "2", chat=NEW), "three", "four")
        )
        await ledger.admissions.move_chat(moved())
        must_equal((await ledger.outbox.due(channels=SERVED, limit=9)).parts, (), "what is due beside them")
        shown = await deliver(ledger, [*old, *new])
        must_equal(sorted(shown), sorted(["one", "two", "three", "four"]), "what was handed out")
        must_equal((await ledger.queue.counts()).open_parts, 0, "parts not yet delivered")


@proves()
async def drafts_stay_in_the_old_chat(harness: LedgerHarness) -> None:
    """A draft is no message of the new chat: a turn that runs again is not handed it, replies do not edit it."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger, "1")
        part = await ledger.turns.begin_effect(effect(claimed, Repeat.ADOPT, shows="draft"))
        if part is None:
            raise PromiseBroken("a part sent in mid-turn was not handed out")
        await ledger.outbox.done(part.part, Sent(platform_id=PlatformMessageId("p1")))
        await ledger.admissions.move_chat(moved())
        await harness.kill()
    async with owned(harness) as ledger:
        await recover(ledger)
        must_equal((await claim_one(ledger)).drafts, (), "drafts of the turn that runs again")


@proves()
async def a_command_is_answered_in_the_new_chat(harness: LedgerHarness) -> None:
    """A command's reply goes to the new id, also when it was given under the old one."""
    async with owned(harness) as ledger:
        before = await admit(ledger, commanding(written("1", "/status"), DoOutside()))
        await ledger.admissions.move_chat(moved())
        (first,) = await ledger.admissions.finish_command(before.row, [TextPart(text="done")])
        must_equal(first.target.chat, NEW, "where the reply of a command goes that was under way")
        late = await admit(ledger, commanding(written("2", "/status"), Say()))
        must_equal((late.replies, late.parts), (1, ()), "a reply behind it")
        following = await ledger.outbox.done(first.part, NotDelivered(error="refused"))
        if following is None:
            raise PromiseBroken("nothing follows")
        must_equal((following.target.chat, texts([following])), (NEW, ["Said"]), "the late command's reply")


CHECKS: tuple[LedgerCheck, ...] = (
    a_moved_chat_goes_on_where_it_was,
    what_is_to_be_sent_goes_to_the_new_chat,
    a_part_that_arrived_elsewhere_moves_its_chat,
    a_pause_moves_with_its_chat,
    a_move_outlives_a_power_cut,
    moving_again_changes_nothing,
    threads_move_with_their_chat_and_strangers_do_not,
    two_conversations_become_one,
    joining_waits_for_what_runs,
    a_moved_chat_has_one_part_on_its_way_at_last,
    drafts_stay_in_the_old_chat,
    a_command_is_answered_in_the_new_chat,
)

"""Checks of the way in: keys, limits, cursors, albums, edits."""

from datetime import timedelta

import anyio

from fermix.application.ports.admissions import (
    Accepted,
    AdmitResult,
    Amended,
    Conflict,
    CursorMove,
    Duplicate,
    Full,
    Say,
    StopEverything,
)
from fermix.domain import wording
from fermix.domain.history import MarkerEntry, UserEntry
from fermix.domain.lane import Placement, QueueLimits
from fermix.domain.turn import TurnState
from fermix.testing.expectations import must_be, must_equal
from fermix.testing.ledger_checks.check import (
    LedgerCheck,
    admit,
    ask,
    asked_and_claimed,
    claim_all,
    claim_one,
    keys,
    must_stand,
    owned,
    proves,
    remembered,
)
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger
from fermix.testing.samples import LOCAL, answering, asking, commanding, overheard, written

SECOND = timedelta(seconds=1)


@proves("ingress.dedupe.ledger_key")
async def a_key_is_admitted_once(harness: LedgerHarness) -> None:
    """A key that was admitted is a duplicate from then on, for later owners too, and names its turn."""
    async with owned(harness) as ledger:
        first = await ask(ledger, "1")
        (again,) = await ledger.admissions.admit([asking(written("1"))])
        expected = Duplicate(row=first.row, turn=first.turn, state=TurnState.QUEUED)
        must_equal(again, expected, "the same key again")
        await harness.kill()
    async with owned(harness) as ledger:
        (again,) = await ledger.admissions.admit([asking(written("1"))])
        must_equal(again, expected, "the same key under the next owner")


@proves("ingress.admit.one_list_one_transaction")
async def a_list_is_admitted_in_its_order(harness: LedgerHarness) -> None:
    """The items of a list are worked on in order, and a key that stands in it twice is admitted once."""
    async with owned(harness) as ledger:
        batch = [asking(written(key)) for key in ("1", "1", "2")]
        one, twin, two = await ledger.admissions.admit(batch)
        first = must_be(one, Accepted, "the first of a list")
        must_be(twin, Duplicate, "its key again in the same list")
        second = must_be(two, Accepted, "another key of the list")
        must_equal(sorted([first.row, second.row]), [first.row, second.row], "rows in order of arrival")
        must_equal((await ledger.queue.counts()).waiting, 2, "messages that wait")


@proves("ingress.dedupe.ledger_key")
async def equal_keys_at_once_make_one_row(harness: LedgerHarness) -> None:
    """Of many admissions of one key at the same time one is accepted, and the others name its row."""
    results: list[AdmitResult] = []

    async def admit_it(ledger: OpenLedger) -> None:
        results.extend(await ledger.admissions.admit([asking(written("1"))]))

    async with owned(harness) as ledger:
        async with anyio.create_task_group() as tasks:
            for _ in range(200):
                tasks.start_soon(admit_it, ledger)
        accepted = [result for result in results if isinstance(result, Accepted)]
        duplicates = [result for result in results if isinstance(result, Duplicate)]
        must_equal((len(accepted), len(duplicates)), (1, 199), "accepted and duplicate")
        must_equal({each.row for each in duplicates}, {accepted[0].row}, "the rows they name")
        must_equal((await ledger.queue.counts()).waiting, 1, "messages that wait")


@proves()
async def a_cancelled_admission_is_finished(harness: LedgerHarness) -> None:
    """A call that was begun is finished even when it is cancelled."""
    async with owned(harness) as ledger:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await ledger.admissions.admit([asking(written("1"))])
        await must_stand(ledger, "1", TurnState.QUEUED)


@proves("ingress.dedupe.ledger_key")
async def a_platforms_key_keeps_its_first_words(harness: LedgerHarness) -> None:
    """On a platform the same key with other words is a duplicate and changes nothing."""
    async with owned(harness) as ledger:
        await admit(ledger, asking(written("1", "first")))
        (again,) = await ledger.admissions.admit([asking(written("1", "second"))])
        must_be(again, Duplicate, "the same key with other words")
        claimed = await claim_one(ledger)
        must_equal(claimed.messages[0].message.text, "first", "the words that stay")


@proves()
async def a_callers_key_with_other_words_conflicts(harness: LedgerHarness) -> None:
    """Where callers choose keys, the same key with other words is a conflict, with the same words a duplicate."""
    async with owned(harness) as ledger:
        first = await admit(ledger, asking(written("1", "first", channel=LOCAL)))
        same, other = await ledger.admissions.admit(
            [asking(written("1", text, channel=LOCAL)) for text in ("first", "second")]
        )
        must_be(same, Duplicate, "the same key with the same words")
        must_equal(other, Conflict(row=first.row), "the same key with other words")


@proves("limits.per_conversation")
async def a_full_conversation_refuses(harness: LedgerHarness) -> None:
    """Beyond its limit a conversation refuses and nothing is written, others go on, and room comes back."""
    async with owned(harness, limits=QueueLimits(per_conversation=2, total=10)) as ledger:
        for key in ("1", "2"):
            await ask(ledger, key)
        refused, elsewhere = await ledger.admissions.admit(
            [asking(written("3")), asking(written("4", chat="8"))]
        )
        must_equal(refused, Full(placement=Placement.FULL_CONVERSATION), "the third message of two")
        must_be(elsewhere, Accepted, "a message of another conversation")
        must_equal(await ledger.queue.find(origin="telegram:bot", key="3"), None, "a row of what was refused")
        await claim_all(ledger)
        await ask(ledger, "3")


@proves("limits.in_all")
async def a_full_ledger_refuses(harness: LedgerHarness) -> None:
    """Beyond the total limit every conversation refuses."""
    async with owned(harness, limits=QueueLimits(per_conversation=2, total=2)) as ledger:
        await ask(ledger, "1", chat="7")
        await ask(ledger, "2", chat="8")
        (refused,) = await ledger.admissions.admit([asking(written("3", chat="9"))])
        must_equal(refused, Full(placement=Placement.FULL_TOTAL), "the third message of two")


@proves("limits.commands_pass")
async def commands_pass_a_full_ledger(harness: LedgerHarness) -> None:
    """No limit keeps a command out."""
    async with owned(harness, limits=QueueLimits(per_conversation=1, total=1)) as ledger:
        await ask(ledger, "1")
        await admit(ledger, commanding(written("2", "/stop"), StopEverything()))
        await ask(ledger, "3")


@proves()
async def the_cursor_moves_with_what_was_read(harness: LedgerHarness) -> None:
    """A cursor is committed with its list, unless an item of it met the total limit and is to be offered again."""

    def moved(value: str) -> CursorMove:
        return CursorMove(origin="telegram:bot", scope="updates", value=value)

    async with owned(harness, limits=QueueLimits(per_conversation=1, total=2)) as ledger:
        must_equal(await ledger.queue.cursor(origin="telegram:bot", scope="updates"), None, "before any")
        await ledger.admissions.admit([asking(written("1"))], cursor=moved("1"))
        await ledger.admissions.admit([asking(written("2"))], cursor=moved("2"))
        must_equal(await ledger.queue.cursor(origin="telegram:bot", scope="updates"), "2", "as it is read")
        must_equal(await ledger.queue.cursor(origin="telegram:bot", scope="other"), None, "of another scope")
        must_equal(await harness.cursor("telegram:bot", "updates"), "2", "past a full conversation")
        await ledger.admissions.admit([], cursor=moved("3"))
        must_equal(await harness.cursor("telegram:bot", "updates"), "3", "past an empty list")
        batch = [asking(written(key, chat=key)) for key in ("4", "5")]
        await ledger.admissions.admit(batch, cursor=moved("5"))
        must_equal(await harness.cursor("telegram:bot", "updates"), "3", "at the total limit")
        await harness.cut_power()
    must_equal(await harness.cursor("telegram:bot", "updates"), "3", "after a power cut")


@proves("ingress.admit.kinds")
async def commands_and_context_make_no_turn(harness: LedgerHarness) -> None:
    """A command and what is only remembered have rows and keys like any message, and no turn."""
    async with owned(harness) as ledger:
        for item in (commanding(written("1", "/status"), Say()), overheard(written("2"))):
            accepted = await admit(ledger, item)
            must_equal(accepted.turn, None, "a turn")
            must_equal(await ledger.admissions.admit([item]), (Duplicate(row=accepted.row),), "it again")
        must_equal(await claim_all(ledger), (), "turns to claim")


@proves()
async def what_was_admitted_survives_a_power_cut(harness: LedgerHarness) -> None:
    """Once `admit` has returned, neither a kill nor a power cut takes the message away."""
    async with owned(harness) as ledger:
        await ask(ledger, "1")
        await harness.kill()
    async with owned(harness) as ledger:
        await ask(ledger, "2")
        await harness.cut_power()
    async with owned(harness) as ledger:
        must_equal(keys([await claim_one(ledger)]), [["1"]], "the first message")
        must_equal((await ledger.queue.counts()).waiting, 1, "the second message")


@proves("edit.replaces_while_queued", "edit.never_a_new_turn")
async def an_edit_of_a_waiting_message_replaces_its_text(harness: LedgerHarness) -> None:
    """An edit changes what a waiting message says; an older one, or one of an unknown message, does nothing."""
    newer, older = harness.clock.now() + 2 * SECOND, harness.clock.now() + SECOND
    async with owned(harness) as ledger:
        await admit(ledger, asking(written("1", "first")))
        edited = written("edit", "second", edited_at=newer)
        must_equal(await ledger.admissions.amend(edited, key="1"), Amended(replaced=True), "an edit")
        late = written("edit", "stale", edited_at=older)
        must_equal(await ledger.admissions.amend(late, key="1"), None, "an older edit")
        must_equal(await ledger.admissions.amend(edited, key="none"), None, "an edit of nothing")
        claimed = await claim_one(ledger)
        must_equal(claimed.messages[0].message.text, "second", "the words that count")
        must_equal(claimed.messages[0].message.key, "1", "the key that stays")


@proves("edit.noted_later", "edit.never_a_new_turn")
async def a_late_edit_is_noted_in_history(harness: LedgerHarness) -> None:
    """An edit of a message whose turn has started stands in history after the turn, and makes no new one."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        edited = written("edit", "second", edited_at=harness.clock.now())
        must_equal(await ledger.admissions.amend(edited, key="1"), Amended(replaced=False), "a late edit")
        await ledger.turns.settle(answering(claimed, "answer"))
        note = (MarkerEntry(text=wording.EDITED_NOTE), UserEntry(text="second"))
        must_equal((await remembered(ledger))[-2:], note, "the end of the history")
        must_equal(await claim_all(ledger), (), "turns to claim")


@proves("edit.noted_later")
async def a_late_edit_that_leaves_no_words_is_not_noted(harness: LedgerHarness) -> None:
    """Who takes the caption off a picture later leaves no empty message in the history, which providers refuse."""
    async with owned(harness) as ledger:
        claimed = await asked_and_claimed(ledger)
        bare = written("edit", " ", edited_at=harness.clock.now() + SECOND)
        must_equal(await ledger.admissions.amend(bare, key="1"), Amended(replaced=False), "a late edit")
        older = written("edit", "second", edited_at=harness.clock.now())
        must_equal(await ledger.admissions.amend(older, key="1"), None, "an edit from before it")
        await ledger.turns.settle(answering(claimed, "answer"))
        marked = [entry for entry in await remembered(ledger) if isinstance(entry, MarkerEntry)]
        must_equal(marked, [], "notes in the history")


@proves("edit.command_changes_nothing")
async def an_edited_command_changes_nothing(harness: LedgerHarness) -> None:
    """A message that was a command cannot be edited into something else."""
    async with owned(harness) as ledger:
        await admit(ledger, commanding(written("1", "/status"), Say()))
        edited = written("edit", "second", edited_at=harness.clock.now())
        must_equal(await ledger.admissions.amend(edited, key="1"), None, "an edit of a command")


CHECKS: tuple[LedgerCheck, ...] = (
    a_key_is_admitted_once,
    a_list_is_admitted_in_its_order,
    equal_keys_at_once_make_one_row,
    a_cancelled_admission_is_finished,
    a_platforms_key_keeps_its_first_words,
    a_callers_key_with_other_words_conflicts,
    a_full_conversation_refuses,
    a_full_ledger_refuses,
    commands_pass_a_full_ledger,
    the_cursor_moves_with_what_was_read,
    commands_and_context_make_no_turn,
    what_was_admitted_survives_a_power_cut,
    an_edit_of_a_waiting_message_replaces_its_text,
    a_late_edit_is_noted_in_history,
    a_late_edit_that_leaves_no_words_is_not_noted,
    an_edited_command_changes_nothing,
)

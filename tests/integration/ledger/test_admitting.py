"""The way in: what is accepted, recognised, refused or changed later, in one commit per list."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fermix.application.ports.admissions import (
    Accepted,
    AdmitResult,
    Amended,
    Conflict,
    Context,
    CursorMove,
    DoOutside,
    Duplicate,
    Full,
    RetryTurn,
    Said,
    Say,
    StopEverything,
    Stopped,
    ToBeDone,
)
from fermix.application.ports.outbox import Sent
from fermix.application.ports.turns import PreparedMedia
from fermix.domain.authorization import Trust
from fermix.domain.blob import BlobRef
from fermix.domain.capability import OnlyNames, Scope
from fermix.domain.delivery import TextPart
from fermix.domain.history import HistoryEntry, MarkerEntry, UserEntry
from fermix.domain.incoming_media import FileKept, MediaFailed, MediaProblem
from fermix.domain.lane import Placement, QueueLimits
from fermix.domain.message import AttachmentKind
from fermix.domain.route import route_of
from fermix.domain.turn import Outcome, TurnState
from fermix.domain.wording import EDITED_NOTE, STOPPED_MARKER
from fermix.testing.samples import asking, written
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
    failure,
    message,
    says,
)

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)


def kinds(results: tuple[AdmitResult, ...]) -> list[str]:
    return [type(result).__name__ for result in results]


@pytest.mark.requirement("ingress.admit.one_list_one_transaction")
async def test_a_list_commits_together_with_its_cursor(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        results = await ledger.admissions.admit(
            [says("1"), says("2", chat="8"), says("3")],
            cursor=CursorMove(origin="telegram:bot", scope="updates", value="17"),
        )
        await ledger.admissions.admit(
            [], cursor=CursorMove(origin="telegram:bot", scope="updates", value="18")
        )
    assert kinds(results) == ["Accepted"] * 3
    assert ask_file(path, "SELECT scope, value FROM cursors") == [("updates", "18")]
    assert ask_file(path, "SELECT count(DISTINCT lane) FROM messages") == [(2,)]


async def test_the_cursor_stays_where_an_item_met_the_total_limit_and_moves_past_a_full_conversation(
    path: Path,
) -> None:
    def reached(value: str) -> CursorMove:
        return CursorMove(origin="telegram:bot", scope="updates", value=value)

    async with an_owned_ledger(path, limits=QueueLimits(per_conversation=1, total=2)) as ledger:
        await ledger.admissions.admit([says("1"), says("2")], cursor=reached("2"))
        assert ask_file(path, "SELECT value FROM cursors") == [("2",)]
        await ledger.admissions.admit([says("3", chat="8"), says("4", chat="9")], cursor=reached("4"))
        assert ask_file(path, "SELECT value FROM cursors") == [("2",)]


@pytest.mark.requirement("ingress.dedupe.ledger_key")
async def test_the_same_key_is_answered_with_where_its_turn_stands(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        first = await admit_one(ledger, says("1"))
        (waiting,) = await ledger.admissions.admit([says("1")])
        claimed = await claim_one(ledger)
        (running,) = await ledger.admissions.admit([says("1")])
        await ledger.turns.settle(answer(claimed, "hi"))
        (over,) = await ledger.admissions.admit([says("1")])
    assert waiting == Duplicate(row=first.row, turn=first.turn, state=TurnState.QUEUED)
    assert running == Duplicate(row=first.row, turn=first.turn, state=TurnState.STARTED)
    assert over == Duplicate(
        row=first.row, turn=first.turn, state=TurnState.SETTLED, outcome=Outcome.COMPLETED
    )


async def test_a_duplicate_inside_one_list_is_found(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        results = await ledger.admissions.admit([says("1"), says("2"), says("1")])
    assert kinds(results) == ["Accepted", "Accepted", "Duplicate"]


async def test_the_same_key_of_another_account_is_another_message(path: Path) -> None:
    other = says("1")
    other = replace(other, message=replace(other.message, channel=CLI))
    async with an_owned_ledger(path) as ledger:
        results = await ledger.admissions.admit([says("1"), other])
    assert kinds(results) == ["Accepted", "Accepted"]


async def test_other_content_under_a_platforms_key_keeps_the_first(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1", "first"))
        (again,) = await ledger.admissions.admit([says("1", "second")])
        claimed = await claim_one(ledger)
    assert isinstance(again, Duplicate)
    assert claimed.messages[0].message.text == "first"


async def test_other_content_under_a_key_of_the_callers_choice_is_a_conflict(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        first = await admit_one(ledger, says("1", "first", channel=CLI))
        results = await ledger.admissions.admit(
            [says("1", "second", channel=CLI), says("1", "first", channel=CLI)]
        )
    assert results[0] == Conflict(row=first.row)
    assert isinstance(results[1], Duplicate)


@pytest.mark.requirement("limits.per_conversation", "limits.in_all")
async def test_a_full_conversation_refuses_and_others_go_on(path: Path) -> None:
    async with an_owned_ledger(path, limits=QueueLimits(per_conversation=2, total=4)) as ledger:
        results = await ledger.admissions.admit([says(str(n)) for n in range(3)])
        elsewhere = await ledger.admissions.admit([says(f"b{n}", chat="8") for n in range(2)])
        nowhere = await ledger.admissions.admit([says("c", chat="9")])
    assert results[2] == Full(placement=Placement.FULL_CONVERSATION)
    assert kinds(elsewhere) == ["Accepted", "Accepted"]
    assert nowhere == (Full(placement=Placement.FULL_TOTAL),)
    assert ask_file(path, "SELECT count(*) FROM routes") == [(2,)]


async def test_room_returns_when_something_starts_or_ends(path: Path) -> None:
    async with an_owned_ledger(path, limits=QueueLimits(per_conversation=2)) as ledger:
        await ledger.admissions.admit([says("1"), says("2")])
        await claim_one(ledger)
        assert kinds(await ledger.admissions.admit([says("3"), says("4")])) == ["Accepted", "Full"]
        await ledger.admissions.admit([commands("s", StopEverything())])
        assert kinds(await ledger.admissions.admit([says("4"), says("5")])) == ["Accepted", "Accepted"]


async def test_what_goes_back_to_the_queue_counts_as_waiting_again(path: Path) -> None:
    limits = QueueLimits(per_conversation=1)
    async with an_owned_ledger(path, limits=limits) as ledger:
        await admit_one(ledger, says("1"))
        claimed = await claim_one(ledger)
        await ledger.turns.release(claimed.turn, generation=claimed.generation)
        assert kinds(await ledger.admissions.admit([says("2")])) == ["Full"]
        await claim_one(ledger)
    async with an_owned_ledger(path, limits=limits) as ledger:
        await ledger.ownership.recover(channels=SERVED)
        assert kinds(await ledger.admissions.admit([says("2")])) == ["Full"]
        failed = await claim_one(ledger)
        await ledger.turns.settle(failure(failed))
        await admit_one(ledger, commands("r", RetryTurn(turn=failed.turn)))
        assert kinds(await ledger.admissions.admit([says("2")])) == ["Full"]


async def test_what_was_refused_as_full_is_accepted_when_offered_later(path: Path) -> None:
    async with an_owned_ledger(path, limits=QueueLimits(per_conversation=1)) as ledger:
        assert kinds(await ledger.admissions.admit([says("1"), says("2")])) == ["Accepted", "Full"]
        await claim_one(ledger)
        assert kinds(await ledger.admissions.admit([says("2")])) == ["Accepted"]


async def test_what_waits_is_counted_anew_by_the_next_owner(path: Path) -> None:
    limits = QueueLimits(per_conversation=2)
    async with an_owned_ledger(path, limits=limits) as ledger:
        await ledger.admissions.admit([says("1"), says("2")])
    async with an_owned_ledger(path, limits=limits) as ledger:
        assert kinds(await ledger.admissions.admit([says("3")])) == ["Full"]


@pytest.mark.requirement("limits.commands_pass")
async def test_commands_pass_a_full_queue(path: Path) -> None:
    async with an_owned_ledger(path, limits=QueueLimits(per_conversation=0, total=0)) as ledger:
        assert (await admit_one(ledger, commands("1", Say()))).effect == Said()


async def test_a_message_that_is_only_remembered_has_no_turn(path: Path) -> None:
    said = message("1")
    async with an_owned_ledger(path) as ledger:
        (result,) = await ledger.admissions.admit(
            [Context(message=said, route=route_of(said), trust=Trust.GUEST)]
        )
        assert (await ledger.turns.claim(limit=5, channels=SERVED)).turns == ()
    assert isinstance(result, Accepted)
    assert result.turn is None


async def test_a_claimed_message_is_the_one_that_was_admitted(path: Path) -> None:
    item = says("1", "NUL \0, half a pair \ud83d, and 1 MB: " + "ä" * 500_000, trust=Trust.GUEST)
    scope = Scope(trust=Trust.GUEST, narrowing=(OnlyNames(names=frozenset({"read"})),))
    item = replace(item, scope=scope)
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, item)
        claimed = await claim_one(ledger)
    (said,) = claimed.messages
    assert (said.row, said.message, said.target, said.trust) == (
        accepted.row,
        item.message,
        item.target,
        Trust.GUEST,
    )
    assert (claimed.scope, claimed.route, claimed.attempts) == (scope, item.route, 1)


@pytest.mark.requirement("lane.head_in_preparation_holds_lane", "ingress.admit.input_takes_its_place")
async def test_a_head_in_preparation_holds_its_lane_until_the_last_attachment(path: Path) -> None:
    item = asking(written("1"), media=2)
    kept = PreparedMedia(position=0, result=FileKept(content=BlobRef(digest="ab" * 32, size_bytes=7)))
    failed = MediaFailed(problem=MediaProblem.NOT_FETCHED, kind=AttachmentKind.FILE)
    gone = PreparedMedia(position=1, result=failed)
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, item)
        await admit_one(ledger, says("2"))
        await admit_one(ledger, says("3", chat="8"))
        first = await ledger.turns.claim(limit=5, channels=SERVED)
        await ledger.media.prepared(accepted.row, kept)
        assert (await ledger.turns.claim(limit=5, channels=SERVED)).turns == ()
        await ledger.media.prepared(accepted.row, gone)
        await ledger.media.prepared(accepted.row, replace(kept, position=1))
        claimed = await claim_one(ledger)
    assert [turn.messages[0].message.key for turn in first.turns] == ["3"]
    assert claimed.messages[0].media == (kept, gone)


@pytest.mark.requirement("album.part_restarts_the_window", "album.closes_at_ten_or_window_end")
async def test_the_parts_of_an_album_become_one_turn_when_its_wait_is_over(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        first = await admit_one(ledger, says("1", album="g"))
        clock.advance(2 * SECOND)
        second = await admit_one(ledger, says("2", album="g"))
        clock.advance(2 * SECOND)
        waiting = await ledger.turns.claim(limit=5, channels=SERVED)
        clock.advance(SECOND)
        claimed = await claim_one(ledger)
    assert first.turn == second.turn
    assert waiting.turns == ()
    assert waiting.next_due == START + 5 * SECOND
    assert [said.message.key for said in claimed.messages] == ["1", "2"]


@pytest.mark.requirement("album.closes_at_ten_or_window_end")
async def test_the_tenth_part_ends_the_wait_and_the_eleventh_opens_another_turn(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        results = await ledger.admissions.admit([says(str(n), album="g") for n in range(11)])
        claimed = await claim_one(ledger)
    assert len(claimed.messages) == 10
    turns = {result.turn for result in results if isinstance(result, Accepted)}
    assert len(turns) == 2


async def test_something_else_from_the_same_sender_ends_an_album_and_stays_behind_it(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await ledger.admissions.admit([says("1", album="g"), says("2", album="g"), says("3", "what is it?")])
        claimed = await claim_one(ledger)
        assert (await ledger.turns.claim(limit=5, channels=SERVED)).turns == ()
        await ledger.turns.settle(answer(claimed))
        following = await claim_one(ledger)
    assert [said.message.key for said in claimed.messages] == ["1", "2"]
    assert [said.message.key for said in following.messages] == ["3"]


@pytest.mark.requirement("album.collecting_holds_the_lane")
async def test_somebody_else_in_the_chat_neither_ends_an_album_nor_overtakes_it(path: Path) -> None:
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await ledger.admissions.admit([says("1", album="g"), says("2", sender="43"), says("3", album="g")])
        assert (await ledger.turns.claim(limit=5, channels=SERVED)).turns == ()
        clock.advance(3 * SECOND)
        claimed = await claim_one(ledger)
    assert [said.message.key for said in claimed.messages] == ["1", "3"]


async def test_an_album_sees_no_more_than_its_lowest_part_allows(path: Path) -> None:
    narrow = replace(
        says("2", album="g", trust=Trust.GUEST),
        scope=Scope(trust=Trust.GUEST, narrowing=(OnlyNames(names=frozenset()),)),
    )
    clock = StoppedClock()
    async with an_owned_ledger(path, clock=clock) as ledger:
        await ledger.admissions.admit([says("1", album="g"), narrow, says("3", album="g")])
        clock.advance(3 * SECOND)
        claimed = await claim_one(ledger)
    assert claimed.scope == Scope(trust=Trust.GUEST, narrowing=(OnlyNames(names=frozenset()),))


@pytest.mark.requirement("edit.replaces_while_queued", "edit.never_a_new_turn")
async def test_an_edit_replaces_the_text_of_what_still_waits(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, says("1", "tpyo"))
        done = await ledger.admissions.amend(message("1e", "typo", edited_at=START + SECOND), key="1")
        older = await ledger.admissions.amend(message("1f", "older", edited_at=START), key="1")
        again = await ledger.admissions.amend(message("1e", "typo", edited_at=START + SECOND), key="1")
        claimed = await claim_one(ledger)
    assert (done, older, again) == (Amended(replaced=True), None, None)
    assert claimed.messages[0].message.text == "typo"
    assert claimed.messages[0].message.key == "1"


@pytest.mark.requirement("edit.noted_later", "edit.never_a_new_turn")
async def test_an_edit_of_what_was_answered_is_noted_once_in_its_window(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1", "tpyo"))
        claimed = await claim_one(ledger)
        await ledger.turns.settle(answer(claimed))
        edit = message("1e", "typo", edited_at=START + SECOND)
        done = await ledger.admissions.amend(edit, key="1")
        again = await ledger.admissions.amend(edit, key="1")
        history = await ledger.conversations.history(accepted.lane, window=0)
    assert (done, again) == (Amended(replaced=False), None)
    assert history == (UserEntry(text="tpyo"), MarkerEntry(text=EDITED_NOTE), UserEntry(text="typo"))


@pytest.mark.requirement("edit.noted_later")
@pytest.mark.parametrize("ends", ["settled", "cancelled"])
async def test_a_note_about_a_running_turn_follows_what_it_speaks_about(path: Path, ends: str) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, says("1", "tpyo"))
        claimed = await claim_one(ledger)
        await ledger.admissions.amend(message("1e", "typo", edited_at=START + SECOND), key="1")
        if ends == "settled":
            await ledger.turns.settle(answer(claimed))
        else:
            await ledger.turns.cancel(claimed.turn)
        history = await ledger.conversations.history(accepted.lane, window=0)
    said: list[HistoryEntry] = [UserEntry(text="tpyo")]
    if ends == "cancelled":
        said.append(MarkerEntry(text=STOPPED_MARKER))
    assert list(history) == [*said, MarkerEntry(text=EDITED_NOTE), UserEntry(text="typo")]


@pytest.mark.requirement("edit.command_changes_nothing")
async def test_edits_of_commands_strangers_and_cancelled_messages_change_nothing(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        await admit_one(ledger, commands("1", Say()))
        waiting = await admit_one(ledger, says("2"))
        assert waiting.turn is not None
        await ledger.turns.cancel(waiting.turn)
        for key in ("1", "2", "unheard of"):
            assert await ledger.admissions.amend(message("e", edited_at=START), key=key) is None
        assert await ledger.conversations.history(waiting.lane, window=0) == ()


async def test_a_stop_in_the_middle_of_a_list_cuts_between_its_neighbours(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        before, stop, after = await ledger.admissions.admit(
            [says("1"), commands("2", StopEverything()), says("3")]
        )
        claimed = await claim_one(ledger)
    assert isinstance(before, Accepted)
    assert isinstance(stop, Accepted)
    assert isinstance(after, Accepted)
    assert isinstance(stop.effect, Stopped)
    assert stop.effect.report.waiting == (before.turn,)
    assert claimed.turn == after.turn


@pytest.mark.requirement("command.has_a_row_first", "command.ledger_work_commits_with_row")
async def test_a_command_replies_in_the_commit_of_its_row_and_once(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, commands("1", Say()))
        (again,) = await ledger.admissions.admit([commands("1", Say())])
    (part,) = accepted.parts
    assert accepted.replies == 1
    assert (part.body, part.turn, part.ordinal) == (TextPart(text="Said"), None, 0)
    assert again == Duplicate(row=accepted.row)
    assert ask_file(path, "SELECT kind, done, body FROM messages") == [("command", 1, None)]
    assert ask_file(path, "SELECT state, notice FROM outbox") == [("sending", f"command:{accepted.row}:0")]


async def test_a_command_with_work_outside_replies_when_that_is_done_and_once(path: Path) -> None:
    async with an_owned_ledger(path) as ledger:
        accepted = await admit_one(ledger, commands("1", DoOutside()))
        assert (accepted.effect, accepted.parts) == (ToBeDone(), ())
        first, second = TextPart(text="done"), TextPart(text="and dusted")
        (part,) = await ledger.admissions.finish_command(accepted.row, [first, second])
        assert await ledger.admissions.finish_command(accepted.row, [first]) == ()
        following = await ledger.outbox.done(part.part, Sent())
    assert part.body == first
    assert following is not None
    assert following.body == second

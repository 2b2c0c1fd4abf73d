"""Every ledger passes the conformance suite on both event loops; and the suite notices ledgers that must not."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import anyio
import pytest

from fermix.domain.lane import QueueLimits
from fermix.testing.clock import StoppedClock
from fermix.testing.histories import SABOTEURS, Sabotage
from fermix.testing.ledger_conformance import LEDGER_CHECKS, LedgerCheck, OpenLedger, PromiseBroken
from fermix.testing.memory_home import MemoryHome
from tests.contract.ledger.homes import HOMES

pytestmark = pytest.mark.anyio


@pytest.mark.requirement(
    "album.closes_at_ten_or_window_end",
    "album.collecting_holds_the_lane",
    "album.part_restarts_the_window",
    "command.ahead_of_queue",
    "command.checked_again_after_transcription",
    "command.has_a_row_first",
    "command.ledger_work_commits_with_row",
    "command.new.on_paused_lane",
    "command.outside_work_is_reported_not_repeated",
    "deliver.in_order",
    "deliver.nonce_is_stable",
    "deliver.waits_for_the_older_part",
    "edit.command_changes_nothing",
    "edit.never_a_new_turn",
    "edit.noted_later",
    "edit.replaces_while_queued",
    "effects.reply_ordinals_follow",
    "effects.send_is_effect_and_part",
    "ingress.admit.kinds",
    "ingress.admit.one_list_one_transaction",
    "ingress.dedupe.ledger_key",
    "lane.fair_between_conversations",
    "lane.head_in_preparation_holds_lane",
    "lane.table_is_the_queue",
    "limits.commands_pass",
    "limits.in_all",
    "limits.per_conversation",
    "media.not_prepared_twice",
    "recovery.at_most_two_replays",
    "recovery.attempt_counted_before_run",
    "recovery.awaited_is_interrupted",
    "recovery.discard_resolves",
    "recovery.guest_reply_parts_only",
    "recovery.journal_keeps_intent_and_outcome",
    "recovery.late_settlement_is_refused",
    "recovery.own_text_is_interrupted",
    "recovery.replays_without_effect",
    "recovery.retry_resolves",
    "recovery.unknown_pauses_lane",
    "recovery.unknown_told_once",
    "recovery.unsafe_effect_is_unknown",
    "retention.kept_for_unknown_and_failed",
    "retention.keys",
    "retention.media_with_its_last_row",
    "settle.history_is_whole",
    "settle.one_transaction",
    "settle.stopped_turn_says_nothing",
    "snapshot.inherited_by_sub_work",
    "snapshot.stored_with_the_turn",
)
@pytest.mark.parametrize("check", LEDGER_CHECKS, ids=lambda check: check.id)
@pytest.mark.parametrize("home", HOMES)
async def test_a_ledger_keeps_its_promise(home: str, check: LedgerCheck, tmp_path: Path) -> None:
    with anyio.fail_after(30), HOMES[home](tmp_path) as harness:
        await check.run(harness)


def test_the_marks_are_those_of_the_checks() -> None:
    marks = vars(test_a_ledger_keeps_its_promise)["pytestmark"]
    mark = next(each for each in marks if each.name == "requirement")
    assert list(mark.args) == sorted({each for check in LEDGER_CHECKS for each in check.requirements})


def test_every_check_has_an_id_of_its_own_and_a_sentence() -> None:
    assert len({check.id for check in LEDGER_CHECKS}) == len(LEDGER_CHECKS)
    assert [check.id for check in LEDGER_CHECKS if not check.promise.endswith(".")] == []


class SabotagedHome:
    """A home of the in-memory ledger with a planted fault."""

    def __init__(self, sabotage: Sabotage) -> None:
        self._home = MemoryHome()
        self._sabotage = sabotage

    @property
    def clock(self) -> StoppedClock:
        return self._home.clock

    @asynccontextmanager
    async def open(self, *, limits: QueueLimits | None = None) -> AsyncGenerator[OpenLedger]:
        async with self._home.open(limits=limits) as ledger:
            yield self._sabotage(ledger)

    async def kill(self) -> None:
        await self._home.kill()

    async def cut_power(self, chance: Random | None = None) -> None:
        await self._home.cut_power(chance)

    async def cursor(self, origin: str, scope: str) -> str | None:
        return await self._home.cursor(origin, scope)


async def checks_that_fail(sabotage: Sabotage) -> set[str]:
    failed: set[str] = set()
    for check in LEDGER_CHECKS:
        try:
            await check.run(SabotagedHome(sabotage))
        except PromiseBroken:
            failed.add(check.id)
    return failed


@pytest.mark.parametrize(
    ("saboteur", "check"),
    [
        ("replays_blindly", "a_turn_that_did_something_waits_for_its_owner"),
        ("hides_repeats", "only_what_was_on_its_way_is_marked"),
        ("overtakes_albums", "an_album_becomes_one_turn"),
        ("leaves_chats_behind", "a_moved_chat_goes_on_where_it_was"),
    ],
)
async def test_a_planted_fault_breaks_a_check(saboteur: str, check: str) -> None:
    failed = await checks_that_fail(SABOTEURS[saboteur])
    assert check in failed
    assert len(failed) < len(LEDGER_CHECKS) / 2, "a fault is meant to break what it is about, not everything"

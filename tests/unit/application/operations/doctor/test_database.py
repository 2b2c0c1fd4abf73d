"""The database and what waits in it, judged."""

from dataclasses import replace

import pytest

from fermix.application.operations.doctor.database import (
    WAL_WARN_ABOVE,
    DatabaseFacts,
    PausedFacts,
    judge_database,
    judge_paused,
)
from fermix.application.operations.doctor.report import RowStatus

WELL = DatabaseFacts(path="/h/ledger.db", exists=True, bytes=2**20, wal_bytes=2**12, schema=1, checked=True)


@pytest.mark.parametrize(
    ("facts", "status", "said"),
    [
        (WELL, RowStatus.OK, "1.0 MiB and a log of 4.0 KiB; version 1 of its tables, no damage found"),
        (replace(WELL, checked=False), RowStatus.OK, "in the time there was"),
        (DatabaseFacts(path="/h/ledger.db", exists=False), RowStatus.OK, "does not exist yet"),
        (replace(WELL, in_use=True), RowStatus.OK, "in use"),
        (replace(WELL, unread="left alone"), RowStatus.OK, "left alone"),
        (replace(WELL, mode=0o644), RowStatus.WARN, "mode 0644"),
        (replace(WELL, wal_bytes=WAL_WARN_ABOVE + 1), RowStatus.WARN, "more than 256.0 MiB"),
        (replace(WELL, trouble="it is damaged"), RowStatus.FAIL, "it is damaged"),
        (replace(WELL, closed="may not be read"), RowStatus.FAIL, "may not be read"),
    ],
)
def test_a_database_is_judged(facts: DatabaseFacts, status: RowStatus, said: str) -> None:
    finding = judge_database(facts)
    assert finding.status is status
    assert said in finding.sentence
    assert (finding.remedy is None) == (status is RowStatus.OK)


def test_paused_conversations_name_their_requests_and_the_two_ways_out() -> None:
    finding = judge_paused(PausedFacts(count=12, turns=tuple(range(1, 13))))
    assert finding.status is RowStatus.WARN
    assert finding.sentence.startswith("12 conversations wait for a decision")
    assert finding.details == ("lost requests: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more",)
    assert "/retry" in str(finding.remedy)
    assert "/discard" in str(finding.remedy)


def test_one_paused_conversation_is_one() -> None:
    assert judge_paused(PausedFacts(count=1)).sentence.startswith("1 conversation waits")


def test_none_paused_is_well() -> None:
    assert judge_paused(PausedFacts(count=0)).status is RowStatus.OK


def test_an_unknown_count_is_skipped_with_its_reason() -> None:
    finding = judge_paused(PausedFacts(count=None, unknown_because="the database was not read"))
    assert (finding.status, finding.sentence) == (RowStatus.SKIP, "the database was not read")

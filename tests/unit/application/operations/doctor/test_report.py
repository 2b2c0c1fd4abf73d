"""Rows in their order, and what they come to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.operations.doctor.report import (
    Check,
    Finding,
    RowStatus,
    examine,
    fail,
    ok,
    skip,
    warn,
)

FINDINGS = {
    RowStatus.OK: ok("well"),
    RowStatus.WARN: warn("odd", remedy="look"),
    RowStatus.FAIL: fail("broken", remedy="mend"),
    RowStatus.SKIP: skip("not looked at"),
}


def check(name: str, finding: Finding) -> Check[str]:
    return Check(name=name, look=lambda _subject: finding)


@given(st.lists(st.sampled_from(RowStatus)))
def test_rows_keep_their_order_and_only_a_failed_one_fails_the_whole(statuses: list[RowStatus]) -> None:
    checks = [check(str(at), FINDINGS[status]) for at, status in enumerate(statuses)]
    report = examine(checks, "home")
    assert [row.name for row in report.rows] == [str(at) for at in range(len(statuses))]
    assert report.failed == (RowStatus.FAIL in statuses)
    assert report.counts == {status: statuses.count(status) for status in RowStatus}


def test_each_row_looks_at_the_subject() -> None:
    report = examine([Check(name="a", look=lambda subject: ok(f"saw {subject}"))], "home")
    assert report.rows[0].finding.sentence == "saw home"


def test_what_the_system_refuses_fails_its_row_and_the_others_follow() -> None:
    def refused(_subject: str) -> Finding:
        raise PermissionError(13, "Permission denied", "/home/x")

    report = examine([Check(name="a", look=refused), check("b", ok("well"))], "home")
    assert report.rows[0].finding.status is RowStatus.FAIL
    assert report.rows[0].finding.sentence == "could not be looked at: /home/x: permission denied"
    assert report.rows[1].finding == ok("well")


def test_a_mistake_in_a_row_is_not_hidden() -> None:
    def wrong(_subject: str) -> Finding:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        examine([Check(name="a", look=wrong)], "home")


def test_every_text_is_changed_and_no_name() -> None:
    report = examine([check("row", fail("a", remedy="b", details=["c"]))], "home").map_texts(str.upper)
    assert report.rows[0].name == "row"
    assert report.rows[0].finding == fail("A", remedy="B", details=["C"])

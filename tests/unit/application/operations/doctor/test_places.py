"""The home's folder and its disk, judged."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.operations.doctor.disk import FAIL_BELOW, WARN_BELOW, DiskFacts, judge_disk
from fermix.application.operations.doctor.home import HomeFacts, judge_home
from fermix.application.operations.doctor.report import RowStatus
from fermix.application.operations.doctor.sizes import GIB, MIB, size

WELL = HomeFacts(path="/home/ada/.fermix", exists=True)
ABSENT = HomeFacts(path="/home/ada/.fermix", exists=False)


@pytest.mark.parametrize(
    ("facts", "status", "said"),
    [
        (WELL, RowStatus.OK, "by its owner alone"),
        (ABSENT, RowStatus.OK, "does not exist yet"),
        (replace(ABSENT, usable=False), RowStatus.FAIL, "cannot be made"),
        (replace(WELL, is_folder=False), RowStatus.FAIL, "no folder"),
        (replace(WELL, is_ours=False), RowStatus.FAIL, "belongs to another user"),
        (replace(WELL, usable=False, mode=0o500), RowStatus.FAIL, "mode 0500"),
        (replace(WELL, mode=0o755), RowStatus.WARN, "mode 0755"),
        (replace(WELL, exposed_at="/srv"), RowStatus.FAIL, "/srv is writable by all"),
        (replace(WELL, read_only=True), RowStatus.FAIL, "read-only"),
        (replace(ABSENT, is_text=False), RowStatus.FAIL, "is not UTF-8 text"),
    ],
)
def test_a_home_is_judged_as_a_start_would(facts: HomeFacts, status: RowStatus, said: str) -> None:
    finding = judge_home(facts)
    assert finding.status is status
    assert said in finding.sentence
    assert (finding.remedy is None) == (status is RowStatus.OK)


@given(st.integers(min_value=0, max_value=2**50))
def test_less_room_is_never_judged_better(free: int) -> None:
    finding = judge_disk(DiskFacts(place="/", free=free, names_left=True))
    wanted = RowStatus.FAIL if free < FAIL_BELOW else RowStatus.WARN if free < WARN_BELOW else RowStatus.OK
    assert finding.status is wanted
    assert size(free) in finding.sentence


def test_the_limits_are_stated() -> None:
    assert "less than 1.0 GiB" in judge_disk(DiskFacts(place="/", free=GIB - 1, names_left=True)).sentence
    assert "less than 100.0 MiB" in judge_disk(DiskFacts(place="/", free=1, names_left=True)).sentence


def test_a_disk_without_room_for_names_is_full() -> None:
    assert judge_disk(DiskFacts(place="/", free=GIB * 9, names_left=False)).status is RowStatus.FAIL


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (3 * MIB // 2, "1.5 MiB")]
)
def test_sizes_have_the_unit_that_fits(count: int, text: str) -> None:
    assert size(count) == text

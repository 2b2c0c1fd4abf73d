"""A channel's row: what the running daemon tells of it, and what can be seen without."""

from dataclasses import replace

import pytest

from fermix.application.operations.doctor.channel_state import (
    DO_AS_IT_SAYS,
    NOT_SET_UP,
    RESTART,
    StateFacts,
    judge_state,
)
from fermix.application.operations.doctor.report import RowStatus, fail, ok
from fermix.application.ports.control import ChannelHealth, ChannelStatus
from fermix.application.ports.remarks import Remark

WELL = ChannelHealth(name="telegram", status=ChannelStatus.READY)
PLATFORM = ("enter this there",)


def test_a_channel_that_listens_is_well_and_its_platforms_side_is_told() -> None:
    finding = judge_state(StateFacts(health=WELL, platform=PLATFORM))
    assert finding.status is RowStatus.OK
    assert finding.sentence == "all that it needs is set; it listens"
    assert finding.details == PLATFORM


def test_a_channel_that_does_not_work_fails_with_the_reason_and_what_to_do() -> None:
    refused = replace(WELL, status=ChannelStatus.DEGRADED, detail="the token is refused: copy it again")
    finding = judge_state(StateFacts(health=refused, platform=PLATFORM))
    assert finding.status is RowStatus.FAIL
    assert finding.sentence == "does not work: the token is refused: copy it again"
    assert finding.remedy == DO_AS_IT_SAYS
    assert finding.details == PLATFORM


@pytest.mark.parametrize("status", [ChannelStatus.SETUP_REQUIRED, ChannelStatus.DISABLED])
def test_what_was_set_up_since_the_start_needs_a_restart(status: ChannelStatus) -> None:
    finding = judge_state(StateFacts(health=replace(WELL, status=status)))
    assert (finding.status, finding.remedy) == (RowStatus.WARN, RESTART)
    assert "the running daemon does not serve it" in finding.sentence


def test_a_remark_of_trouble_is_a_warning_and_another_one_is_a_detail() -> None:
    privacy = Remark(text="its privacy mode is on")
    calls = Remark(text="calls were turned away: copy the secret again", is_trouble=True)
    calm = judge_state(StateFacts(health=replace(WELL, remarks=(privacy,))))
    assert (calm.status, calm.details) == (RowStatus.OK, (privacy.text,))
    troubled = judge_state(StateFacts(health=replace(WELL, remarks=(calls, privacy))))
    assert (troubled.status, troubled.details) == (RowStatus.WARN, (calls.text, privacy.text))
    assert troubled.remedy == DO_AS_IT_SAYS


def test_without_a_daemon_only_the_settings_are_judged() -> None:
    finding = judge_state(StateFacts(platform=PLATFORM))
    assert (finding.status, finding.sentence) == (RowStatus.OK, "all that it needs is set")
    assert judge_state(StateFacts(own=NOT_SET_UP, health=WELL)) == NOT_SET_UP


def test_what_fails_by_itself_fails_whatever_the_daemon_says() -> None:
    absent = fail("the program is not there", remedy="install it", details=["no Java"])
    finding = judge_state(StateFacts(own=absent, health=WELL, platform=PLATFORM))
    assert finding == replace(absent, details=("no Java", *PLATFORM))
    found = ok("version 1", details=["Java 21"])
    listening = judge_state(StateFacts(own=found, health=replace(WELL, unreadable=2)))
    assert listening.sentence == "version 1; it listens"
    assert listening.details == ("Java 21", "2 of what its platform handed over could not be read")

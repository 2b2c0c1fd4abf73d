"""Senders that were refused lately, as doctor shows them."""

from datetime import UTC, datetime, timedelta

import pytest

from fermix.application.operations.doctor.refused import MAX_SHOWN, RefusedFacts, judge_refused
from fermix.application.operations.doctor.report import RowStatus
from fermix.application.ports.control import RefusedSender
from fermix.domain.ids import ChannelName, UserId

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def refused(*ids: str, minutes_ago: int = 0) -> RefusedSender:
    return RefusedSender(
        at=NOON - timedelta(minutes=minutes_ago),
        channel=ChannelName("telegram"),
        sender_ids=tuple(UserId(one) for one in ids),
        reason="not allowed",
    )


@pytest.mark.requirement("ingress.authorise.doctor_shows_refused")
def test_each_sender_is_named_once_the_newest_first_and_nothing_is_to_be_mended() -> None:
    often = [refused("9999", "eve"), refused("4004", minutes_ago=1), refused("9999", "eve", minutes_ago=9)]
    finding = judge_refused(RefusedFacts(senders=often))
    assert (finding.status, finding.remedy) == (RowStatus.OK, None)
    assert finding.sentence == "2 senders were refused lately; if it was you, set your id as owner_user_id"
    assert finding.details == (
        "telegram: '9999', 'eve', 2 times, last 2026-05-01 12:00 UTC (not allowed)",
        "telegram: '4004', once, last 2026-05-01 11:59 UTC (not allowed)",
    )


@pytest.mark.requirement("ingress.authorise.doctor_shows_refused")
@pytest.mark.parametrize("text", ["9\n9", "\x1b[31m9", "\u202e9", "\ud83d", "'9", "ü"])
def test_an_id_is_quoted_and_what_is_no_plain_text_in_it_is_escaped(text: str) -> None:
    (detail,) = judge_refused(RefusedFacts(senders=[refused(text)])).details
    assert ascii(text) in detail
    assert detail.isascii()
    assert detail.isprintable()


def test_a_long_id_is_cut() -> None:
    (detail,) = judge_refused(RefusedFacts(senders=[refused("9" * 500)])).details
    assert len(detail) < 200


def test_of_many_senders_the_newest_are_named_and_the_others_counted() -> None:
    senders = [refused(str(number)) for number in range(MAX_SHOWN + 3)]
    finding = judge_refused(RefusedFacts(senders=senders))
    assert finding.details[0].startswith("telegram: '0'")
    assert len(finding.details) == MAX_SHOWN + 1
    assert finding.details[-1] == "and 3 more"


def test_nobody_refused_is_well_and_nobody_asked_is_said() -> None:
    assert judge_refused(RefusedFacts(senders=())).status is RowStatus.OK
    finding = judge_refused(RefusedFacts(senders=None, unknown_because="the daemon is not running"))
    assert (finding.status, finding.sentence) == (RowStatus.SKIP, "not known: the daemon is not running")


def test_a_sender_without_an_id_is_told_too() -> None:
    (detail,) = judge_refused(RefusedFacts(senders=[refused()])).details
    assert "a sender without an id" in detail

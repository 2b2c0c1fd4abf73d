"""Channels that somebody has begun to set up, judged."""

from dataclasses import replace

import pytest

from fermix.application.operations.doctor.channels import ChannelFacts, judge_channels
from fermix.application.operations.doctor.report import RowStatus

WELL = ChannelFacts(name="slack", has_owner=True, allowed=2, allowlist_key="allowed_user_ids")


@pytest.mark.requirement("ingress.fail_closed.doctor_row")
def test_a_channel_with_an_owner_is_configured() -> None:
    finding = judge_channels([WELL])
    assert (finding.status, finding.sentence) == (RowStatus.OK, "configured: slack")
    assert finding.details == ("slack: configured: owner set, 2 allowed",)


@pytest.mark.requirement("ingress.fail_closed.doctor_row")
def test_a_channel_without_owner_and_allowlist_is_misconfigured() -> None:
    finding = judge_channels([replace(WELL, has_owner=False, allowed=0)])
    assert (finding.status, finding.sentence) == (RowStatus.FAIL, "misconfigured: slack")
    (detail,) = finding.details
    assert detail.startswith("slack: misconfigured: neither owner_user_id nor allowed_user_ids is set")
    assert detail.endswith("so every message will be denied")


@pytest.mark.parametrize(
    ("facts", "status", "said"),
    [
        (replace(WELL, has_owner=False), RowStatus.OK, "no owner, 2 allowed"),
        (
            replace(WELL, missing=("bot_token", "signing_secret")),
            RowStatus.FAIL,
            "bot_token and signing_secret",
        ),
        (
            replace(WELL, missing=("bot_token",), kept_elsewhere=("bot_token",)),
            RowStatus.FAIL,
            "bot_token could not be read from its secret store",
        ),
        (replace(WELL, served=False), RowStatus.WARN, "cannot serve it yet"),
        (
            replace(WELL, absent_program="'signal-cli' (cli_path)"),
            RowStatus.FAIL,
            "there is no program 'signal-cli'",
        ),
    ],
)
def test_what_a_channel_lacks_is_named(facts: ChannelFacts, status: RowStatus, said: str) -> None:
    finding = judge_channels([facts])
    assert finding.status is status
    assert said in finding.details[0]


def test_the_worst_channel_counts_and_is_named_alone() -> None:
    finding = judge_channels([WELL, replace(WELL, name="discord", has_owner=False, allowed=0)])
    assert (finding.status, finding.sentence) == (RowStatus.FAIL, "misconfigured: discord")
    assert len(finding.details) == 2


def test_no_channel_is_no_fault() -> None:
    assert judge_channels([]).status is RowStatus.OK


@pytest.mark.requirement("streaming.draft.needs_ability")
def test_drafts_on_a_channel_that_has_none_are_warned_about() -> None:
    finding = judge_channels([replace(WELL, drafts_in_vain=True)])
    assert (finding.status, finding.sentence) == (RowStatus.WARN, "to be looked at: slack")
    assert finding.details == (
        'slack: configured: owner set, 2 allowed; it has no drafts, so streaming = "draft" does nothing',
    )

"""Slack passes the conformance suite of channels, over the fake Slack, called as Slack calls it."""

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, run_check
from tests.contract.channel.slack_far_side import SLACK_GAPS, SlackHarness

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("deliver.only_the_outbox_sends_again")]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The client library knows asyncio only."""
    return "asyncio"


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
async def test_slack_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(30):
        await run_check(check, SlackHarness(), gaps=SLACK_GAPS)

"""Slack passes the conformance suite of channels, over the fake Slack, called as Slack calls it."""

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, Gap, run_check
from tests.contract.channel.slack_far_side import SlackHarness

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("deliver.only_the_outbox_sends_again")]

GAPS = (
    Gap(check="it_tells_group", reason="an event does not say what its channel is called"),
    Gap(check="it_tells_album", reason="Slack puts all files that are sent together into one message"),
    Gap(check="it_tells_command", reason="commands name no bot on Slack"),
    Gap(check="it_tells_others_command", reason="commands name no bot on Slack"),
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The client library knows asyncio only."""
    return "asyncio"


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
async def test_slack_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(30):
        await run_check(check, SlackHarness(), gaps=GAPS)

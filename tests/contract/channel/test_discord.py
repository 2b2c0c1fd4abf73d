"""Discord passes the conformance suite of channels, with its real client and the fake REST and gateway."""

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, run_check
from tests.contract.channel.discord_far_side import DISCORD_GAPS, DiscordHarness

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement(
        "channel.kill_between_handler_and_commit",
        "deliver.only_the_outbox_sends_again",
        "deliver.unmarked_repeats",
    ),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
async def test_discord_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(20):
        await run_check(check, DiscordHarness(), gaps=DISCORD_GAPS)

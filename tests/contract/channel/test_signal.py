"""Signal passes the conformance suite of channels, with real child processes and the fake signal-cli."""

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, run_check
from tests.contract.channel.signal_far_side import SIGNAL_GAPS, SignalHarness

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("channel.kill_between_handler_and_commit", "deliver.only_the_outbox_sends_again"),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The adapter runs on asyncio."""
    return "asyncio"


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
async def test_signal_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(30):
        await run_check(check, SignalHarness(), gaps=SIGNAL_GAPS)

"""WhatsApp passes the conformance suite of channels, over the fake Cloud API, called as Meta calls it."""

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, run_check
from tests.contract.channel.whatsapp_far_side import WHATSAPP_GAPS, WhatsAppHarness

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("deliver.only_the_outbox_sends_again")]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop is enough: the adapter knows none."""
    return "asyncio"


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
async def test_whatsapp_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(20):
        await run_check(check, WhatsAppHarness(), gaps=WHATSAPP_GAPS)

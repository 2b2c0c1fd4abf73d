"""WhatsApp passes the conformance suite of channels, over the fake Cloud API, called as Meta calls it."""

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, Gap, run_check
from tests.contract.channel.whatsapp_far_side import WhatsAppHarness

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("deliver.only_the_outbox_sends_again")]

GAPS = (
    Gap(check="it_tells_bot", reason="nobody on WhatsApp is marked as a bot"),
    Gap(check="it_tells_group", reason="a message of a group does not say what the group is called"),
    Gap(check="it_tells_thread", reason="WhatsApp has no threads"),
    Gap(check="it_tells_quote", reason="a whole message is quoted, and only its id is told"),
    Gap(check="it_tells_command", reason="commands name no bot on WhatsApp"),
    Gap(check="it_tells_others_command", reason="commands name no bot on WhatsApp"),
    Gap(check="a_part_goes_to_its_thread", reason="WhatsApp has no threads"),
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop is enough: the adapter knows none."""
    return "asyncio"


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
async def test_whatsapp_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(20):
        await run_check(check, WhatsAppHarness(), gaps=GAPS)

"""The local channel passes the conformance suite, but for the gaps that are declared and pinned here."""

from collections import Counter

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, run_check
from tests.contract.channel.cli_far_side import CLI_GAPS, CliHarness

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement(
        "deliver.only_the_outbox_sends_again",
        "media.byte_caps_on_the_stream",
        "outbound_media.caps",
    ),
]


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
async def test_the_local_channel_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(30):
        await run_check(check, CliHarness(), gaps=CLI_GAPS)


def test_the_gaps_are_these_and_no_others() -> None:
    counted = Counter(gap.reason for gap in CLI_GAPS)
    assert counted == PINNED
    assert {gap.check for gap in CLI_GAPS} <= {check.id for check in CHANNEL_CHECKS}


PINNED = {
    "what is typed comes through the control socket, not through the channel": 33,
    "a part is handed over inside one process: it cannot get lost, nor be told to wait": 4,
    "the control socket is never away, and there is no line to it": 4,
    "there is no credential: who may use the control socket is known by the kernel": 3,
    "a terminal shows text of any length": 3,
    "a terminal has no reactions": 2,
    "what a terminal shows has no id": 1,
    "a terminal has one thread": 1,
}
"""How many checks each reason keeps from being run."""

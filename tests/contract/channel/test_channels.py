"""Every channel passes the conformance suite, but for the gaps that are declared."""

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, run_check
from tests.contract.channel.platforms import MemoryHarness

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement(
        "channel.kill_between_handler_and_commit",
        "deliver.only_the_outbox_sends_again",
        "deliver.unmarked_repeats",
        "media.byte_caps_on_the_stream",
        "media.references_per_platform",
        "outbound_media.caps",
    ),
]
EACH = pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)


@EACH
async def test_the_channel_in_memory_keeps_its_promise(check: ChannelCheck) -> None:
    with anyio.fail_after(20):
        await run_check(check, MemoryHarness())


def test_the_mark_is_that_of_the_checks() -> None:
    proven = {each for check in CHANNEL_CHECKS for each in check.requirements}
    (mark,) = (each for each in pytestmark if each.name == "requirement")
    assert proven == {*mark.args}


def test_every_check_has_an_id_of_its_own_and_a_sentence() -> None:
    assert len({check.id for check in CHANNEL_CHECKS}) == len(CHANNEL_CHECKS)
    assert [check.id for check in CHANNEL_CHECKS if not check.promise.endswith(".")] == []

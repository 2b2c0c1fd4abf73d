"""Each check notices the fault it is there for, and no other check takes offence at it."""

from datetime import timedelta

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, PromiseBroken
from tests.contract.channel.memory_far_side import MakeChannel
from tests.contract.channel.platforms import MemoryHarness
from tests.contract.channel.saboteurs_buttons import SABOTEURS_BUTTONS
from tests.contract.channel.saboteurs_in import SABOTEURS_IN
from tests.contract.channel.saboteurs_live import SABOTEURS_LIVE
from tests.contract.channel.saboteurs_media import SABOTEURS_MEDIA
from tests.contract.channel.saboteurs_out import SABOTEURS_OUT

pytestmark = pytest.mark.anyio

SABOTEURS = (*SABOTEURS_IN, *SABOTEURS_OUT, *SABOTEURS_MEDIA, *SABOTEURS_LIVE, *SABOTEURS_BUTTONS)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One back end: the checks themselves pass on both, and this is every check against every fault."""
    return "asyncio"


async def checks_that_fail(make: MakeChannel) -> set[str]:
    failed: set[str] = set()
    for check in CHANNEL_CHECKS:
        try:
            await check.run(MemoryHarness(make, patience=timedelta(seconds=0.2)))
        except PromiseBroken:
            failed.add(check.id)
    return failed


@pytest.mark.parametrize(("check", "saboteur"), SABOTEURS, ids=[check for check, _ in SABOTEURS])
async def test_a_planted_fault_breaks_its_check_alone(check: str, saboteur: MakeChannel) -> None:
    with anyio.fail_after(20):
        assert await checks_that_fail(saboteur) == {check}


def test_every_check_has_a_saboteur() -> None:
    assert {check for check, _ in SABOTEURS} == {check.id for check in CHANNEL_CHECKS}

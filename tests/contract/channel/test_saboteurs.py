"""Each check notices the fault it is there for, and no other check takes offence at it."""

from datetime import timedelta

import anyio
import pytest

from fermix.testing.channel_conformance import CHANNEL_CHECKS, ChannelCheck, PromiseBroken
from tests.contract.channel.memory_far_side import MakeChannel
from tests.contract.channel.platforms import MemoryHarness
from tests.contract.channel.saboteurs_buttons import SABOTEURS_BUTTONS
from tests.contract.channel.saboteurs_in import SABOTEURS_IN
from tests.contract.channel.saboteurs_live import SABOTEURS_LIVE
from tests.contract.channel.saboteurs_media import SABOTEURS_MEDIA
from tests.contract.channel.saboteurs_out import SABOTEURS_OUT

pytestmark = pytest.mark.anyio

SHORT = timedelta(seconds=0.2)
LONG = timedelta(seconds=5)

SABOTEURS = (*SABOTEURS_IN, *SABOTEURS_OUT, *SABOTEURS_MEDIA, *SABOTEURS_LIVE, *SABOTEURS_BUTTONS)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One back end: the checks themselves pass on both, and this is every check against every fault."""
    return "asyncio"


async def fails(check: ChannelCheck, make: MakeChannel, *, patience: timedelta) -> bool:
    try:
        await check.run(MemoryHarness(make, patience=patience))
    except PromiseBroken:
        return True
    return False


async def checks_that_fail(make: MakeChannel, *, expected: str) -> set[str]:
    """On a busy machine a sound check may run out of a short time, so it is run again with more of it."""
    return {
        check.id
        for check in CHANNEL_CHECKS
        if await fails(check, make, patience=SHORT)
        and (check.id == expected or await fails(check, make, patience=LONG))
    }


@pytest.mark.parametrize(("check", "saboteur"), SABOTEURS, ids=[check for check, _ in SABOTEURS])
async def test_a_planted_fault_breaks_its_check_alone(check: str, saboteur: MakeChannel) -> None:
    with anyio.fail_after(20):
        assert await checks_that_fail(saboteur, expected=check) == {check}


def test_every_check_has_a_saboteur() -> None:
    assert {check for check, _ in SABOTEURS} == {check.id for check in CHANNEL_CHECKS}

"""Each check notices the fault it is there for, and no other check takes offence at it."""

import anyio
import pytest

from fermix.testing.transcriber_conformance import TRANSCRIBER_CHECKS, PromiseBroken
from tests.contract.transcriber.harness_memory import SECRET, MemoryHarness, Sabotage
from tests.contract.transcriber.saboteurs import SABOTEURS

pytestmark = pytest.mark.anyio


async def checks_that_fail(sabotage: Sabotage) -> set[str]:
    failed: set[str] = set()
    for check in TRANSCRIBER_CHECKS:
        try:
            await check.run(MemoryHarness(sabotage, secrets=(SECRET,)))
        except PromiseBroken:
            failed.add(check.id)
    return failed


@pytest.mark.parametrize(
    ("check", "sabotage"),
    SABOTEURS,
    ids=[f"{check}-{number}" for number, (check, _) in enumerate(SABOTEURS)],
)
async def test_a_planted_fault_breaks_its_check_alone(check: str, sabotage: Sabotage) -> None:
    with anyio.fail_after(20):
        assert await checks_that_fail(sabotage) == {check}


def test_every_check_has_a_saboteur() -> None:
    assert {check for check, _ in SABOTEURS} == {check.id for check in TRANSCRIBER_CHECKS}

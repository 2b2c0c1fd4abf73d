"""The ledger's conformance suite: what every implementation of the ledger's ports must pass.

For each adapter write a `LedgerHarness`, then run every check over a fresh one, on every event loop you support:

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", LEDGER_CHECKS, ids=lambda check: check.id)
    async def test_my_ledger(check: LedgerCheck) -> None:
        await check.run(MyHarness())

A check raises `PromiseBroken` and says what was expected. The suite itself needs no test framework. What it
cannot see through the ports (syncs counted, a full disk, a failing one) is for tests of the adapter; what only
time and chance bring to light is for `fermix.testing.histories`.
"""

from fermix.testing.expectations import PromiseBroken
from fermix.testing.ledger_checks import (
    admission,
    albums,
    commands,
    delegation,
    delivery,
    files,
    left_drafts,
    listing,
    media,
    moving,
    ownership,
    recovery,
    turns,
)
from fermix.testing.ledger_checks.check import LedgerCheck
from fermix.testing.ledger_harness import LedgerHarness, OpenLedger

__all__ = ["LEDGER_CHECKS", "LedgerCheck", "LedgerHarness", "OpenLedger", "PromiseBroken"]

LEDGER_CHECKS: tuple[LedgerCheck, ...] = (
    *admission.CHECKS,
    *albums.CHECKS,
    *turns.CHECKS,
    *media.CHECKS,
    *delegation.CHECKS,
    *delivery.CHECKS,
    *files.CHECKS,
    *commands.CHECKS,
    *recovery.CHECKS,
    *left_drafts.CHECKS,
    *ownership.CHECKS,
    *listing.CHECKS,
    *moving.CHECKS,
)
"""All checks, in the order of a message's life."""

"""The conformance suite of secret stores: what every implementation of the `SecretStore` port must pass.

For each adapter write a `SecretStoreHarness`, then run every check over a fresh one:

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", SECRET_CHECKS, ids=lambda check: check.id)
    async def test_my_store(check: SecretCheck) -> None:
        await run_check(check, MyHarness(), gaps=MY_GAPS)

Nothing that a check says holds a secret but those of the suite itself. It needs no test framework.
"""

from fermix.testing.checks import CannotArrange, Check, Gap, run_check
from fermix.testing.expectations import PromiseBroken
from fermix.testing.secret_checks import keeping, trouble
from fermix.testing.secret_checks.check import SecretCheck
from fermix.testing.secret_harness import SecretStoreHarness, SecretTrouble

__all__ = [
    "SECRET_CHECKS",
    "CannotArrange",
    "Check",
    "Gap",
    "PromiseBroken",
    "SecretCheck",
    "SecretStoreHarness",
    "SecretTrouble",
    "run_check",
]

SECRET_CHECKS: tuple[SecretCheck, ...] = (*keeping.CHECKS, *trouble.CHECKS)
"""All checks: what is kept, and what happens when it cannot be."""

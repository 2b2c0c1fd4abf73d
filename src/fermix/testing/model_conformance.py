"""The model's conformance suite: what every implementation of the `Model` port must pass.

For each adapter write a `ModelHarness`, then run every check over a fresh one, on every event loop you support:

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.id)
    async def test_my_model(check: ModelCheck) -> None:
        await run_check(check, MyHarness(), gaps=MY_GAPS)

What your adapter cannot keep, or its provider cannot be brought to, is declared as `Gap`s; a gap that is none any
more fails. The suite itself needs no test framework.
"""

from fermix.testing.checks import CannotArrange, Check, Gap, run_check
from fermix.testing.expectations import PromiseBroken
from fermix.testing.model_checks import answers, failures, leaving, pictures
from fermix.testing.model_checks.check import ModelCheck
from fermix.testing.model_harness import RATE_LIMIT_WAIT, Deed, ModelHarness, OpenModel, Provider, Trouble

__all__ = [
    "MODEL_CHECKS",
    "RATE_LIMIT_WAIT",
    "CannotArrange",
    "Check",
    "Deed",
    "Gap",
    "ModelCheck",
    "ModelHarness",
    "OpenModel",
    "PromiseBroken",
    "Provider",
    "Trouble",
    "run_check",
]

MODEL_CHECKS: tuple[ModelCheck, ...] = (
    *answers.CHECKS,
    *pictures.CHECKS,
    *failures.CHECKS,
    *leaving.CHECKS,
)
"""All checks: what an answer is, what is seen, how it fails, and what happens when nobody waits for it."""

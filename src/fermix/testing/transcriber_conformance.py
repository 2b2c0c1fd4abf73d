"""The transcribers' conformance suite: what every implementation of the `Transcriber` port must pass.

For each adapter write a `TranscriberHarness`, then run every check over a fresh one, on every event loop:

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", TRANSCRIBER_CHECKS, ids=lambda check: check.id)
    async def test_my_transcriber(check: TranscriberCheck) -> None:
        await run_check(check, MyHarness(), gaps=MY_GAPS)

What your adapter cannot keep, or its backend cannot be brought to, is declared as `Gap`s; a gap that is none any
more fails. The suite itself needs no test framework.
"""

from fermix.testing.checks import CannotArrange, Check, Gap, run_check
from fermix.testing.expectations import PromiseBroken
from fermix.testing.transcriber_checks import failures, hearing, leaving
from fermix.testing.transcriber_checks.check import TranscriberCheck
from fermix.testing.transcriber_harness import (
    Heard,
    HearingDeed,
    HearingTrouble,
    Listener,
    OpenTranscriber,
    TranscriberHarness,
)

__all__ = [
    "TRANSCRIBER_CHECKS",
    "CannotArrange",
    "Check",
    "Gap",
    "Heard",
    "HearingDeed",
    "HearingTrouble",
    "Listener",
    "OpenTranscriber",
    "PromiseBroken",
    "TranscriberCheck",
    "TranscriberHarness",
    "run_check",
]

TRANSCRIBER_CHECKS: tuple[TranscriberCheck, ...] = (*hearing.CHECKS, *failures.CHECKS, *leaving.CHECKS)
"""All checks: what a transcript is, how there comes to be none, and what happens when nobody waits for it."""

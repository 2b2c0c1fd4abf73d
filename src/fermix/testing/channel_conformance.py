"""The conformance suite of channels: what every implementation of the `Channel` port must pass.

For each adapter write a `ChannelHarness`, then run every check over a fresh one:

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
    async def test_my_channel(check: ChannelCheck) -> None:
        await run_check(check, MyHarness(), gaps=MY_GAPS)

What your adapter cannot keep, or its platform cannot be brought to, is declared as `Gap`s; a gap that is none any
more fails. The suite itself needs no test framework.
"""

from fermix.testing.channel_checks import listening, sending
from fermix.testing.channel_checks.check import ChannelCheck
from fermix.testing.channel_harness import ChannelHarness, FarSide, OpenChannel
from fermix.testing.checks import CannotArrange, Check, Gap, run_check
from fermix.testing.expectations import PromiseBroken

__all__ = [
    "CHANNEL_CHECKS",
    "CannotArrange",
    "ChannelCheck",
    "ChannelHarness",
    "Check",
    "FarSide",
    "Gap",
    "OpenChannel",
    "PromiseBroken",
    "run_check",
]

CHANNEL_CHECKS: tuple[ChannelCheck, ...] = (*listening.CHECKS, *sending.CHECKS)
"""All checks: the way in, and the way out."""

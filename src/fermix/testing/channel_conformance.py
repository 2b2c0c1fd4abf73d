"""The conformance suite of channels: what every implementation of the `Channel` port must pass.

For each adapter write a `ChannelHarness`, then run every check over a fresh one:

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.id)
    async def test_my_channel(check: ChannelCheck) -> None:
        await run_check(check, MyHarness(), gaps=MY_GAPS)

What your adapter cannot keep, or its platform cannot be brought to, is declared as `Gap`s; a gap that is none any
more fails. The suite itself needs no test framework. `docs/adapters.md` leads through it.
"""

from fermix.testing.channel_checks import (
    buttons,
    drafts,
    facts,
    failing,
    fetching,
    files,
    hostile,
    leaving,
    lifecycle,
    offering,
    reacting,
    secrecy,
    sending,
    typing,
)
from fermix.testing.channel_checks.check import ChannelCheck
from fermix.testing.channel_harness import (
    PRIVATE,
    WAIT,
    ChannelHarness,
    Fact,
    FarSide,
    OpenChannel,
    SeesTyping,
    Shown,
    ShownFile,
    TapsButtons,
    Trouble,
)
from fermix.testing.checks import CannotArrange, Check, Gap, run_check
from fermix.testing.expectations import PromiseBroken

__all__ = [
    "CHANNEL_CHECKS",
    "PRIVATE",
    "WAIT",
    "CannotArrange",
    "ChannelCheck",
    "ChannelHarness",
    "Check",
    "Fact",
    "FarSide",
    "Gap",
    "OpenChannel",
    "PromiseBroken",
    "SeesTyping",
    "Shown",
    "ShownFile",
    "TapsButtons",
    "Trouble",
    "run_check",
]

CHANNEL_CHECKS: tuple[ChannelCheck, ...] = (
    *lifecycle.CHECKS,
    *facts.CHECKS,
    *offering.CHECKS,
    *sending.CHECKS,
    *files.CHECKS,
    *reacting.CHECKS,
    *fetching.CHECKS,
    *drafts.CHECKS,
    *typing.CHECKS,
    *buttons.CHECKS,
    *failing.CHECKS,
    *leaving.CHECKS,
    *hostile.CHECKS,
    *secrecy.CHECKS,
)
"""All checks: life, what messages tell, the way in and out, files, drafts, typing, buttons, failures, leaving, odd
input, secrets."""

"""Checks of typing: it is shown where the answer will be, fails as its own affair, and ends with whoever shows it.

A channel without typing promises nothing here; where the platform's people cannot tell whether they saw it, only
what its caller notices is put to the test.
"""

from functools import partial

import anyio
import anyio.lowlevel

from fermix.application.ports.channel import ChannelError, ShowsTyping, Typing
from fermix.testing.channel_checks.check import FOREIGN, ChannelCheck, error_of, in_time, proves
from fermix.testing.channel_checks.stepping import cancelled_at
from fermix.testing.channel_harness import ChannelHarness, OpenChannel, SeesTyping
from fermix.testing.checks import CannotArrange
from fermix.testing.expectations import PromiseBroken, must_equal

_MOST_STEPS = 500
_TURNS = 100
"""Turns of the event loop in which what ends has ended."""


def _typing(opened: OpenChannel) -> Typing | None:
    channel = opened.channel
    return channel.typing if isinstance(channel, ShowsTyping) else None


@proves()
async def typing_is_shown_once_for_each_call(harness: ChannelHarness) -> None:
    """Each call shows it in its chat at most once, and a message that follows is sent like any other."""
    async with harness.open() as opened:
        typing, far_side = _typing(opened), opened.far_side
        if typing is None:
            return
        target = opened.part("an answer").target
        with in_time(harness, "typing"):
            await typing.show(target)
        if isinstance(far_side, SeesTyping):
            with in_time(harness, "somebody who sees it"):
                must_equal(await far_side.typings(1), 1, "how often it is shown")
        with in_time(harness, "the answer"):
            must_equal(await error_of(opened, "an answer"), None, "its error")
        must_equal([each.text for each in await far_side.shown(1)], ["an answer"], "what is shown")


@proves()
async def typing_ends_with_whoever_shows_it(harness: ChannelHarness) -> None:
    """Cancelled wherever it waits, showing it ends by that, no task goes on, and it can be shown again."""
    async with harness.open() as opened:
        typing = _typing(opened)
        if typing is None:
            return
        target = opened.part("an answer").target
        await typing.show(target)
        before = len(anyio.get_running_tasks())
        for step in range(1, _MOST_STEPS):
            with in_time(harness, f"the end of typing that was cancelled at its await {step}"):
                came = await cancelled_at(step, partial(typing.show, target))
            if not came.asked:
                break
            must_equal(came.obeyed, True, f"whether typing, cancelled at its await {step}, ended by that")
        for _ in range(_TURNS):
            if len(anyio.get_running_tasks()) <= before:
                break
            await anyio.lowlevel.checkpoint()
        must_equal(len(anyio.get_running_tasks()) <= before, True, "whether no more tasks run than before")
        with in_time(harness, "typing again"):
            await typing.show(target)


@proves()
async def typing_that_fails_is_told_and_costs_nothing(harness: ChannelHarness) -> None:
    """Where it cannot be shown that is an error of channels, soon; once the platform is back an answer leaves."""
    async with harness.open() as opened:
        typing = _typing(opened)
        if typing is None:
            return
        target = opened.part("an answer").target
        try:
            opened.far_side.goes_away()
        except CannotArrange:
            return
        with in_time(harness, "typing towards nobody"):
            try:
                await typing.show(target)
            except ChannelError:
                pass
            except FOREIGN as exc:
                found = type(exc).__name__
                raise PromiseBroken(f"typing: expected an error of channels, found {found}") from exc
            else:
                raise PromiseBroken("typing towards nobody: expected an error, found none")
        opened.far_side.comes_back()
        with in_time(harness, "the answer"):
            while await error_of(opened, "an answer") is not None:
                await anyio.lowlevel.checkpoint()


CHECKS: tuple[ChannelCheck, ...] = (
    typing_is_shown_once_for_each_call,
    typing_ends_with_whoever_shows_it,
    typing_that_fails_is_told_and_costs_nothing,
)

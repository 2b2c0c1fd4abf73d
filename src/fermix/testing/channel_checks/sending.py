"""Checks of the way out: parts are shown as they are, every failure is the right one, and none is the end."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import anyio

from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
)
from fermix.testing.channel_checks.check import ChannelCheck, error_of, in_time, proves
from fermix.testing.channel_harness import ChannelHarness, FarSide
from fermix.testing.checks import CannotArrange
from fermix.testing.error_texts import texts_of
from fermix.testing.expectations import must_be, must_equal

_WAIT = timedelta(seconds=7)
_LONG = 10_000
"""Characters that a channel without a limit must carry in one part."""


def _rate_limited(far_side: FarSide) -> None:
    far_side.rate_limit_next(_WAIT)


_TROUBLES: tuple[tuple[str, Callable[[FarSide], None]], ...] = (
    ("too fast", _rate_limited),
    ("unreachable", lambda far_side: far_side.cut_the_line()),
    ("refused", lambda far_side: far_side.refuse_next()),
    ("answer lost", lambda far_side: far_side.lose_the_answer()),
)


def _troubles(far_side: FarSide) -> Iterator[str]:
    """Every trouble that the platform can be brought to, arranged for the next part."""
    met = 0
    for name, arrange in _TROUBLES:
        try:
            arrange(far_side)
        except CannotArrange:
            continue
        met += 1
        yield name
    if not met:
        raise CannotArrange("this platform takes everything")


@proves()
async def a_part_is_shown_as_it_is(harness: ChannelHarness) -> None:
    """A part is shown with all its lines and letters."""
    text = "Grüße 🎉\n\nsecond paragraph, 您好"
    async with harness.open() as opened:
        await opened.channel.send(opened.part(text))
        with in_time(harness, "the part"):
            must_equal(await opened.far_side.saw(1), [text], "what is shown")


@proves()
async def the_longest_part_is_shown_whole(harness: ChannelHarness) -> None:
    """A part as long as the channel says it can carry is shown whole, in one."""
    async with harness.open() as opened:
        longest = opened.channel.features.max_text or _LONG
        await opened.channel.send(opened.part("x" * longest))
        with in_time(harness, "the part"):
            must_equal([len(text) for text in await opened.far_side.saw(1)], [longest], "what is shown")


@proves()
async def a_rate_limit_is_told_with_its_wait(harness: ChannelHarness) -> None:
    """A part refused for coming too fast fails with the wait that the platform asks for."""
    async with harness.open() as opened:
        opened.far_side.rate_limit_next(_WAIT)
        failed = must_be(await error_of(opened), ChannelRateLimited, "the error")
    must_equal(failed.retry_after, _WAIT, "the wait")


@proves()
async def what_did_not_leave_is_told(harness: ChannelHarness) -> None:
    """A part that found nobody there certainly did not leave."""
    async with harness.open() as opened:
        opened.far_side.cut_the_line()
        must_be(await error_of(opened), ChannelUnreachable, "the error")


@proves()
async def what_was_refused_is_told(harness: ChannelHarness) -> None:
    """A part that was refused for good is not to be tried again."""
    async with harness.open() as opened:
        opened.far_side.refuse_next()
        must_be(await error_of(opened), ChannelRejected, "the error")


@proves()
async def what_may_have_arrived_is_told(harness: ChannelHarness) -> None:
    """Of a part whose answer was lost nobody knows whether it arrived."""
    async with harness.open() as opened:
        opened.far_side.lose_the_answer()
        must_be(await error_of(opened), ChannelOutcomeUnknown, "the error")


@proves("deliver.only_the_outbox_sends_again")
async def nothing_is_sent_again(harness: ChannelHarness) -> None:
    """A part that failed was sent once: trying again is for the outbox."""
    async with harness.open() as opened:
        for number, trouble in enumerate(_troubles(opened.far_side), start=1):
            await error_of(opened)
            must_equal(opened.far_side.tries, number, f"tries ({trouble})")


@proves()
async def it_can_send_after_every_error(harness: ChannelHarness) -> None:
    """Whatever became of one part, the next one is sent."""
    async with harness.open() as opened:
        for _ in _troubles(opened.far_side):
            await error_of(opened)
            must_equal(await error_of(opened), None, "the error of the next part")


@proves()
async def no_message_shows_in_an_error(harness: ChannelHarness) -> None:
    """Neither an error nor what it stands on holds the text of the part."""
    async with harness.open() as opened:
        for trouble in _troubles(opened.far_side):
            error: ChannelError | None = await error_of(opened, "between you and me")
            texts = () if error is None else tuple(texts_of(error))
            must_equal(
                any("between you" in text for text in texts), False, f"the text in an error ({trouble})"
            )


@proves()
async def who_stops_sending_leaves_it_usable(harness: ChannelHarness) -> None:
    """Sending can be cancelled at once while no answer comes, and the next part is sent."""
    async with harness.open() as opened:
        opened.far_side.stall_next()
        with in_time(harness, "a sender who leaves"):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(error_of, opened)
                await opened.far_side.stalled()
                tasks.cancel_scope.cancel()
        with in_time(harness, "the next part"):
            must_equal(await error_of(opened), None, "its error")


CHECKS: tuple[ChannelCheck, ...] = (
    a_part_is_shown_as_it_is,
    the_longest_part_is_shown_whole,
    a_rate_limit_is_told_with_its_wait,
    what_did_not_leave_is_told,
    what_was_refused_is_told,
    what_may_have_arrived_is_told,
    nothing_is_sent_again,
    it_can_send_after_every_error,
    no_message_shows_in_an_error,
    who_stops_sending_leaves_it_usable,
)

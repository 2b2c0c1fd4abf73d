"""Checks of sending that fails: every failure says what can be done about it, and none is the end."""

from fermix.application.ports.channel import (
    ChannelError,
    ChannelOutcomeUnknown,
    ChannelRateLimited,
    ChannelRejected,
    ChannelUnreachable,
)
from fermix.testing.channel_checks.check import ChannelCheck, error_of, proves, troubles
from fermix.testing.channel_harness import WAIT, ChannelHarness, Trouble
from fermix.testing.expectations import PromiseBroken, must_be, must_equal


async def _failure(harness: ChannelHarness, trouble: Trouble) -> ChannelError | None:
    async with harness.open() as opened:
        opened.far_side.trouble_next(trouble)
        return await error_of(opened)


@proves()
async def a_rate_limit_is_told_with_its_wait(harness: ChannelHarness) -> None:
    """A part refused for coming too fast fails with the wait that the platform asks for."""
    failed = must_be(await _failure(harness, Trouble.TOO_FAST), ChannelRateLimited, "the error")
    must_equal(failed.retry_after, WAIT, "the wait")


@proves()
async def what_did_not_leave_is_told(harness: ChannelHarness) -> None:
    """A part that found nobody there certainly did not leave."""
    must_be(await _failure(harness, Trouble.UNREACHABLE), ChannelUnreachable, "the error")


@proves()
async def what_was_refused_is_told(harness: ChannelHarness) -> None:
    """A part that was refused for good is not to be tried again."""
    must_be(await _failure(harness, Trouble.REFUSED), ChannelRejected, "the error")


@proves()
async def what_may_have_arrived_is_told(harness: ChannelHarness) -> None:
    """Of a part whose answer was lost nobody knows whether it arrived."""
    must_be(await _failure(harness, Trouble.ANSWER_LOST), ChannelOutcomeUnknown, "the error")


@proves()
async def an_answer_that_is_none_is_told(harness: ChannelHarness) -> None:
    """Of a part whose answer cannot be read nobody knows whether it arrived."""
    must_be(await _failure(harness, Trouble.ANSWER_GARBLED), ChannelOutcomeUnknown, "the error")


@proves("deliver.only_the_outbox_sends_again")
async def nothing_is_sent_again(harness: ChannelHarness) -> None:
    """A part that failed was sent once: trying again is for the outbox."""
    async with harness.open() as opened:
        for trouble in troubles(opened.far_side):
            before = opened.far_side.tries
            await error_of(opened)
            if opened.far_side.tries > before + 1:
                raise PromiseBroken(f"tries ({trouble}): expected 1, found {opened.far_side.tries - before}")


@proves("deliver.unmarked_repeats")
async def a_repeat_under_its_old_nonce_is_shown_once_where_that_is_said(harness: ChannelHarness) -> None:
    """Where the features say that doubles are dropped, a part that is sent again is one message, with one id."""
    async with harness.open() as opened:
        if opened.channel.features.nonce_kept_for is None:
            return
        part = opened.part("once")
        first, second = await opened.channel.send(part), await opened.channel.send(part)
        must_equal(second.platform_id, first.platform_id, "the id of the repeat")
        must_equal([each.text for each in await opened.far_side.shown(1)], ["once"], "what is shown")


@proves()
async def it_can_send_after_every_error(harness: ChannelHarness) -> None:
    """Whatever became of one part, the next one is sent."""
    async with harness.open() as opened:
        for trouble in troubles(opened.far_side):
            await error_of(opened)
            must_equal(await error_of(opened), None, f"the error of the next part ({trouble})")


CHECKS: tuple[ChannelCheck, ...] = (
    a_rate_limit_is_told_with_its_wait,
    what_did_not_leave_is_told,
    what_was_refused_is_told,
    what_may_have_arrived_is_told,
    an_answer_that_is_none_is_told,
    nothing_is_sent_again,
    a_repeat_under_its_old_nonce_is_shown_once_where_that_is_said,
    it_can_send_after_every_error,
)

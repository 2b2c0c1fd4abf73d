"""Checks of hostile input: nothing that comes in or goes out, however odd, ends the channel or anything else."""

from functools import partial

from fermix.application.ports.channel import ChannelRejected
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import InvalidMessage, clean
from fermix.testing.channel_checks.check import (
    ChannelCheck,
    DirectedInbox,
    error_of,
    in_time,
    inbound,
    listen_until,
    listening,
    normalised,
    proves,
)
from fermix.testing.channel_harness import ChannelHarness
from fermix.testing.expectations import PromiseBroken, must_equal

_LONG = 4000

ODD_TEXTS = (
    "half a pair \ud83d and the other half \udf89",
    "zero \x00 bell \x07 escape \x1b[2J",
    "turned \u202e round \u2066 and \u200f hidden \u200b\ufeff",
    "e" + "\u0301" * 200,
    "\u2028\u2029\x85 lines of other kinds",
    "{0} %s %(name)s ${HOME} {{}} \\u0000",
    "<b>&amp;</b> [x](javascript:1) **_`~ ||",
    "> " * 200 + "deep",
    "[" * 300 + "x" + "]" * 300,
    "w" * _LONG,
)
"""What people write to see what happens, and what a model may answer."""


@proves()
async def odd_words_come_in(harness: ChannelHarness) -> None:
    """Whatever people write is offered as they wrote it; halves of characters may be replaced."""
    inbox = DirectedInbox()
    async with harness.open() as opened:
        opened.far_side.user_writes(*ODD_TEXTS, "after")
        async with listening(opened.channel, inbox):
            with in_time(harness, "what was written after it"):
                await inbox.was_offered_text("after")
        messages = [inbound(opened.channel, raw) for raw in inbox.offered]
    texts = {message.text for message in messages}
    must_equal(
        [text for text in map(clean, ODD_TEXTS) if text not in texts], [], "the texts that are missing"
    )


@proves()
async def garbage_holds_up_nobody(harness: ChannelHarness) -> None:
    """What the platform must not offer is passed over; what is offered beside it comes in."""
    inbox = DirectedInbox()
    async with harness.open() as opened, listening(opened.channel, inbox):
        opened.far_side.user_writes("before")
        opened.far_side.hands_over_garbage()
        opened.far_side.user_writes("behind")
        with in_time(harness, "what was written behind it"):
            await inbox.was_offered_text("behind")
        with in_time(harness, "its acknowledgement"):
            await opened.far_side.acknowledges(2)
        found = [normalised(opened.channel, raw) for raw in inbox.offered]
    texts = [message.text for message in found if isinstance(message, InboundMessage)]
    must_equal([text for text in texts if text in {"before", "behind"}], ["before", "behind"], "the messages")


@proves()
async def garbage_is_counted(harness: ChannelHarness) -> None:
    """Who passes over what nobody can read tells of it, so that it can be seen that there was something."""
    inbox = DirectedInbox()
    async with harness.open() as opened:
        opened.far_side.hands_over_garbage()
        opened.far_side.user_writes("behind")
        await listen_until(harness, opened.channel, inbox, partial(opened.far_side.acknowledges, 1))
        found = [normalised(opened.channel, raw) for raw in inbox.offered]
    told = inbox.unread + sum(isinstance(message, InvalidMessage) for message in found)
    if found and not told:
        raise PromiseBroken("garbage was passed over, and nobody was told")


@proves()
async def odd_words_go_out(harness: ChannelHarness) -> None:
    """Whatever a part says, it is shown or refused, and the next part is shown."""
    async with harness.open() as opened:
        longest = opened.channel.features.max_text
        for text in ODD_TEXTS:
            error = await error_of(opened, text[:longest])
            if error is not None and not isinstance(error, ChannelRejected):
                raise PromiseBroken(f"the error of {text!r:.60}: found {error!r}") from error
        must_equal(await error_of(opened, "after"), None, "the error of a part after them")


CHECKS: tuple[ChannelCheck, ...] = (
    odd_words_come_in,
    garbage_holds_up_nobody,
    garbage_is_counted,
    odd_words_go_out,
)

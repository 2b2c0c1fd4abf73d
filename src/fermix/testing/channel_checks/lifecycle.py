"""Checks of a channel's life: it listens until it is stopped, again and again, and by itself."""

import anyio
import anyio.lowlevel

from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable
from fermix.testing.channel_checks.check import (
    ChannelCheck,
    DirectedInbox,
    in_time,
    listen_error,
    listening,
    proves,
)
from fermix.testing.channel_harness import ChannelHarness
from fermix.testing.expectations import PromiseBroken, must_be, must_equal

_A_WHILE = 50
"""Turns of the event loop in which a channel that does not listen would have ended."""


@proves()
async def it_listens_until_it_is_cancelled(harness: ChannelHarness) -> None:
    """Listening does not end by itself, ends when it is cancelled, and can begin again."""
    async with harness.open() as opened:
        for time in ("first", "second"):
            ended = anyio.Event()

            async def listens(ended: anyio.Event = ended) -> None:
                await opened.channel.run(DirectedInbox(), cursor=None)
                ended.set()

            with in_time(harness, "the end of listening"):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(listens)
                    for _ in range(_A_WHILE):
                        await anyio.lowlevel.checkpoint()
                    if ended.is_set():
                        raise PromiseBroken(f"listening for the {time} time: expected to go on, found an end")
                    tasks.cancel_scope.cancel()


@proves()
async def listening_again_goes_on_behind_what_was_taken(harness: ChannelHarness) -> None:
    """Who listens again is offered what was written meanwhile, and not what was taken before."""
    inbox = DirectedInbox()
    async with harness.open() as opened:
        opened.far_side.user_writes("before")
        async with listening(opened.channel, inbox):
            with in_time(harness, "the acknowledgement of a message"):
                await opened.far_side.acknowledges(1)
        opened.far_side.user_writes("meanwhile")
        async with listening(opened.channel, inbox):
            opened.far_side.user_writes("now")
            with in_time(harness, "two messages more"):
                must_equal(await inbox.was_offered(3), ["before", "meanwhile", "now"], "what was offered")


@proves()
async def two_of_a_kind_send_apart(harness: ChannelHarness) -> None:
    """Two channels in one process send each to its own platform."""
    async with harness.open() as one, harness.open() as other:
        for opened, text in ((one, "for one"), (other, "for the other")):
            await opened.channel.send(opened.part(text))
        for opened, text in ((one, "for one"), (other, "for the other")):
            with in_time(harness, "a part"):
                shown = await opened.far_side.shown(1)
            must_equal([each.text for each in shown], [text], "what is shown")


@proves()
async def two_of_a_kind_listen_apart(harness: ChannelHarness) -> None:
    """Two channels in one process listen each from its own place."""
    one_inbox, other_inbox = DirectedInbox(), DirectedInbox()
    async with harness.open() as one, harness.open() as other:
        one.far_side.user_writes("for one")
        other.far_side.user_writes("for the other")
        for opened, inbox in ((one, one_inbox), (other, other_inbox)):
            async with listening(opened.channel, inbox):
                with in_time(harness, "a message"):
                    await inbox.was_offered(1)
                with in_time(harness, "its acknowledgement"):
                    await opened.far_side.acknowledges(1)
    must_equal(one_inbox.texts, ["for one"], "what one was offered")
    must_equal(other_inbox.texts, ["for the other"], "what the other was offered")


@proves()
async def it_sends_while_it_listens(harness: ChannelHarness) -> None:
    """Waiting for messages holds up no part."""
    async with harness.open() as opened, listening(opened.channel, DirectedInbox()):
        for _ in range(_A_WHILE):
            await anyio.lowlevel.checkpoint()
        with in_time(harness, "a part"):
            await opened.channel.send(opened.part("meanwhile"))


@proves()
async def a_refused_credential_is_told(harness: ChannelHarness) -> None:
    """Listening with a credential that is not good ends as rejected, with words for its owner."""
    async with harness.open() as opened:
        opened.far_side.refuses_us()
        with in_time(harness, "the refusal"):
            error = must_be(await listen_error(opened.channel), ChannelRejected, "how listening ended")
    must_equal(bool(str(error).strip()), True, "whether it says anything")


@proves()
async def a_platform_that_is_gone_is_told(harness: ChannelHarness) -> None:
    """Listening to a platform that is not there ends as unreachable."""
    async with harness.open() as opened:
        opened.far_side.goes_away()
        with in_time(harness, "the end of listening"):
            must_be(await listen_error(opened.channel), ChannelUnreachable, "how listening ended")


@proves()
async def a_platform_that_is_back_is_heard(harness: ChannelHarness) -> None:
    """Who listens again when the platform is back is offered its messages."""
    inbox = DirectedInbox()
    async with harness.open() as opened:
        opened.far_side.goes_away()
        with in_time(harness, "the end of listening"):
            await listen_error(opened.channel)
        opened.far_side.comes_back()
        opened.far_side.user_writes("are you there?")
        async with listening(opened.channel, inbox):
            with in_time(harness, "a message"):
                await inbox.was_offered(1)


@proves()
async def a_line_that_broke_unused_is_none_of_the_next_part(harness: ChannelHarness) -> None:
    """A part that is sent when the platform is back is shown, although the line of the last one is broken."""
    async with harness.open() as opened:
        await opened.channel.send(opened.part("before"))
        opened.far_side.goes_away()
        opened.far_side.comes_back()
        with in_time(harness, "a part"):
            await opened.channel.send(opened.part("behind"))
            must_equal(
                [each.text for each in await opened.far_side.shown(2)], ["before", "behind"], "what is shown"
            )


CHECKS: tuple[ChannelCheck, ...] = (
    it_listens_until_it_is_cancelled,
    listening_again_goes_on_behind_what_was_taken,
    two_of_a_kind_send_apart,
    two_of_a_kind_listen_apart,
    it_sends_while_it_listens,
    a_refused_credential_is_told,
    a_platform_that_is_gone_is_told,
    a_platform_that_is_back_is_heard,
    a_line_that_broke_unused_is_none_of_the_next_part,
)

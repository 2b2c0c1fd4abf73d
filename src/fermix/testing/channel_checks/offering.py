"""Checks of the way in: messages are offered in order until they were taken, and acknowledged only then."""

from collections import defaultdict
from contextlib import suppress

import anyio

from fermix.application.ports.channel import Verdict
from fermix.testing.channel_checks.check import (
    ChannelCheck,
    DirectedInbox,
    in_time,
    inbound,
    listening,
    proves,
)
from fermix.testing.channel_harness import ChannelHarness, Fact
from fermix.testing.checks import CannotArrange
from fermix.testing.expectations import must_equal


@proves()
async def messages_arrive_in_their_order(harness: ChannelHarness) -> None:
    """What is written one after another is offered in that order."""
    inbox, texts = DirectedInbox(), ["one", "two", "three"]
    async with harness.open() as opened:
        opened.far_side.user_writes(*texts)
        async with listening(opened.channel, inbox):
            with in_time(harness, "three messages"):
                must_equal(await inbox.was_offered(3), texts, "the messages")


@proves("channel.kill_between_handler_and_commit")
async def it_acknowledges_after_the_inbox_and_not_before(harness: ChannelHarness) -> None:
    """A process that dies between being handed a message and committing it is offered it again."""
    inbox = DirectedInbox()
    async with harness.open() as opened:
        opened.far_side.user_writes("hello")
        inbox.closes()
        async with listening(opened.channel, inbox):
            with in_time(harness, "a message"):
                await inbox.was_offered(1)
        must_equal(opened.far_side.acknowledged, 0, "messages acknowledged before they were committed")
        following = DirectedInbox()
        async with listening(opened.again(), following):
            with in_time(harness, "the message, for the next process"):
                await following.was_offered(1)
            with in_time(harness, "its acknowledgement"):
                await opened.far_side.acknowledges(1)


@proves()
async def what_was_not_taken_is_offered_again(harness: ChannelHarness) -> None:
    """A message that the inbox could not take is offered until it can, and then acknowledged."""
    inbox = DirectedInbox(Verdict.UNAVAILABLE, Verdict.FULL)
    async with harness.open() as opened, listening(opened.channel, inbox):
        opened.far_side.user_writes("hello")
        with in_time(harness, "the third offer of a message"):
            must_equal(await inbox.was_offered(3), ["hello"] * 3, "what was offered")
        with in_time(harness, "its acknowledgement"):
            await opened.far_side.acknowledges(1)


@proves()
async def nothing_beside_a_message_that_was_not_taken_is_lost(harness: ChannelHarness) -> None:
    """Of several messages the one that was not taken is offered again, whatever became of the others."""
    inbox = DirectedInbox(Verdict.ACCEPTED, Verdict.UNAVAILABLE)
    async with harness.open() as opened:
        opened.far_side.user_writes("a", "b", "c")
        async with listening(opened.channel, inbox):
            with in_time(harness, "the second offer of the message that was not taken"):
                await inbox.was_offered_text("b", times=2)
            with in_time(harness, "all acknowledgements"):
                await opened.far_side.acknowledges(3)
    must_equal(inbox.texts.count("a"), 1, "offers of the message before it, which was taken")


@proves()
async def what_needs_no_turn_is_acknowledged(harness: ChannelHarness) -> None:
    """Duplicates, and what was answered, dropped or in conflict, are not offered again."""
    verdicts = (Verdict.DUPLICATE, Verdict.ANSWERED, Verdict.DROPPED, Verdict.CONFLICT)
    inbox = DirectedInbox(*verdicts)
    async with harness.open() as opened, listening(opened.channel, inbox):
        for number, verdict in enumerate(verdicts, start=1):
            opened.far_side.user_writes(verdict)
            with in_time(harness, f"the acknowledgement of a message that is {verdict}"):
                await opened.far_side.acknowledges(number)
    must_equal(inbox.texts, list(verdicts), "what was offered")


@proves()
async def a_message_keeps_its_key(harness: ChannelHarness) -> None:
    """Offered again, by this process or the next one, a message has its old key; no other message has it.

    That it is offered again is for other checks to see.
    """
    inbox, following = DirectedInbox(Verdict.UNAVAILABLE), DirectedInbox()
    async with harness.open() as opened:
        opened.far_side.user_writes("first")
        async with listening(opened.channel, inbox):
            with in_time(harness, "a message"):
                await inbox.was_offered(1)
            inbox.closes()
            with anyio.move_on_after(harness.patience.total_seconds()):
                await inbox.was_offered(2)
        with suppress(CannotArrange):
            opened.far_side.user_shows(Fact.GROUP)
        opened.far_side.user_writes("second")
        async with listening(opened.again(), following):
            with in_time(harness, "the messages, for the next process"):
                await following.was_offered_text("second")
        keys = defaultdict[str, set[str]](set)
        for raw in (*inbox.offered, *following.offered):
            message = inbound(opened.channel, raw)
            keys[message.text].add(message.key)
    must_equal(
        {text: len(some) for text, some in keys.items()}, dict.fromkeys(keys, 1), "keys of each message"
    )
    must_equal(len(set().union(*keys.values())), len(keys), "the number of different keys")


CHECKS: tuple[ChannelCheck, ...] = (
    messages_arrive_in_their_order,
    it_acknowledges_after_the_inbox_and_not_before,
    what_was_not_taken_is_offered_again,
    nothing_beside_a_message_that_was_not_taken_is_lost,
    what_needs_no_turn_is_acknowledged,
    a_message_keeps_its_key,
)

"""Checks of the way in: what people write arrives, in order, and is offered until it was taken."""

import anyio

from fermix.application.ports.channel import Verdict
from fermix.domain.ids import ChannelName
from fermix.domain.message import InboundMessage
from fermix.domain.normalise import Registration, normalise
from fermix.testing.channel_checks.check import ChannelCheck, DirectedInbox, in_time, listening, proves
from fermix.testing.channel_harness import ChannelHarness
from fermix.testing.expectations import PromiseBroken, must_be, must_equal

_SHORTLY_SECONDS = 0.05


@proves()
async def it_listens_until_it_is_cancelled(harness: ChannelHarness) -> None:
    """Listening does not end by itself, ends when it is cancelled, and can begin again."""
    async with harness.open() as opened:
        for time in ("first", "second"):
            with in_time(harness, "the end of listening"):
                with anyio.move_on_after(_SHORTLY_SECONDS) as scope:
                    await opened.channel.run(DirectedInbox(), cursor=None)
                if not scope.cancelled_caught:
                    raise PromiseBroken(f"listening for the {time} time: expected to go on, found an end")


@proves()
async def what_people_write_reaches_the_inbox(harness: ChannelHarness) -> None:
    """A message comes with all that is required of one, and with a stable id of who wrote it."""
    inbox = DirectedInbox()
    async with harness.open() as opened, listening(opened.channel, inbox):
        opened.far_side.user_writes("hello")
        with in_time(harness, "a message"):
            await inbox.was_offered(1)
        registration = Registration(channel=ChannelName("tested"), account=opened.channel.account)
        message = must_be(normalise(inbox.offered[0], registration), InboundMessage, "the message")
    must_equal(message.text, "hello", "its text")
    must_equal(message.sender.id is not None, True, "whether it says who wrote it")


@proves()
async def messages_arrive_in_their_order(harness: ChannelHarness) -> None:
    """What is written one after another is offered in that order."""
    inbox, texts = DirectedInbox(), ["one", "two", "three"]
    async with harness.open() as opened:
        opened.far_side.user_writes(*texts)
        async with listening(opened.channel, inbox):
            with in_time(harness, "three messages"):
                must_equal(await inbox.was_offered(3), texts, "the messages")


@proves()
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
async def what_needs_no_turn_is_acknowledged(harness: ChannelHarness) -> None:
    """Duplicates, and what was answered, dropped or in conflict, are not offered again."""
    verdicts = (Verdict.DUPLICATE, Verdict.ANSWERED, Verdict.DROPPED, Verdict.CONFLICT)
    inbox = DirectedInbox(*verdicts)
    async with harness.open() as opened, listening(opened.channel, inbox):
        for number, verdict in enumerate(verdicts, start=1):
            opened.far_side.user_writes(verdict)
            with in_time(harness, f"the acknowledgement of a message that is {verdict}"):
                await opened.far_side.acknowledges(number)
    must_equal([message.get("content") for message in inbox.offered], list(verdicts), "what was offered")


CHECKS: tuple[ChannelCheck, ...] = (
    it_listens_until_it_is_cancelled,
    what_people_write_reaches_the_inbox,
    messages_arrive_in_their_order,
    it_acknowledges_after_the_inbox_and_not_before,
    what_was_not_taken_is_offered_again,
    what_needs_no_turn_is_acknowledged,
)

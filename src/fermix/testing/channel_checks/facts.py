"""Checks of what a message tells: its text as it was written, and every fact that the platform has."""

from fermix.domain.message import InboundMessage
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

_END = "the end"


@proves()
async def what_people_write_reaches_the_inbox(harness: ChannelHarness) -> None:
    """A message comes with all that is required of one, with all its lines and letters."""
    inbox, text = DirectedInbox(), "Grüße 🎉\n\nsecond  paragraph, 您好"
    async with harness.open() as opened, listening(opened.channel, inbox):
        opened.far_side.user_writes(text)
        with in_time(harness, "a message"):
            await inbox.was_offered(1)
        message = inbound(opened.channel, inbox.offered[0])
    must_equal((message.text, message.raw_text), (text, text), "its text")


async def _it_tells(harness: ChannelHarness, fact: Fact) -> None:
    inbox = DirectedInbox()
    async with harness.open() as opened, listening(opened.channel, inbox):
        expected = opened.far_side.user_shows(fact)
        if not expected.get(fact.told_in):
            raise CannotArrange(f"the harness does not say what `{fact.told_in}` of {fact} is to be")
        opened.far_side.user_writes(_END)
        with in_time(harness, fact):
            await inbox.was_offered_text(_END)
        message = inbound(opened.channel, inbox.offered[-2])
    for path, value in expected.items():
        must_equal(_told(message, path), value, f"{path} of {fact}")


def _told(message: InboundMessage, path: str) -> object:
    found: object = message
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def _check_of(fact: Fact) -> ChannelCheck:
    async def run(harness: ChannelHarness) -> None:
        await _it_tells(harness, fact)

    run.__name__ = f"it_tells_{fact.name.lower()}"
    run.__doc__ = f"All that the platform says reaches the inbox of {fact}."
    return proves()(run)


CHECKS: tuple[ChannelCheck, ...] = (
    what_people_write_reaches_the_inbox,
    *(_check_of(fact) for fact in Fact),
)

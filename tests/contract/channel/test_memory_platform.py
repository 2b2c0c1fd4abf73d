"""The platform in memory keeps its own words where the suite does not look."""

import anyio
import pytest

from fermix.application.ports.channel import OutgoingPart, Verdict
from fermix.domain.delivery import Choice, TextPart
from fermix.domain.ids import ChannelName, ChatId
from fermix.domain.route import Target
from fermix.testing.channel_checks.check import DirectedInbox, listening
from fermix.testing.memory_channel import AT_ONCE, MemoryChannel, MemoryPlatform
from tests.contract.channel.platforms import HastyClock

pytestmark = pytest.mark.anyio


def in_memory(platform: MemoryPlatform) -> MemoryChannel:
    return MemoryChannel(platform, clock=HastyClock())


async def test_what_stands_before_a_refused_message_is_acknowledged_and_what_follows_it_is_not() -> None:
    platform = MemoryPlatform()
    platform.user_writes("one", "two", "three")
    inbox = DirectedInbox(Verdict.ACCEPTED, Verdict.UNAVAILABLE, Verdict.ACCEPTED)
    async with listening(in_memory(platform), inbox):
        with anyio.fail_after(5):
            offered = await inbox.was_offered(5)
    assert offered == ["one", "two", "three", "two", "three"]


async def test_it_listens_from_its_cursor_on() -> None:
    platform = MemoryPlatform()
    platform.user_writes("one", "two")
    inbox = DirectedInbox()
    inbox.cursor = "1"
    async with listening(in_memory(platform), inbox):
        with anyio.fail_after(5):
            assert await inbox.was_offered(1) == ["two"]


async def test_a_poll_is_bounded() -> None:
    platform = MemoryPlatform()
    platform.user_writes(*(str(number) for number in range(AT_ONCE + 1)))
    assert len(await platform.poll(after=0)) == AT_ONCE


async def test_a_tap_is_a_message_of_its_own_and_whoever_is_refused_is_told_in_private() -> None:
    platform = MemoryPlatform(has_buttons=True)
    channel = in_memory(platform)
    target = Target(channel=ChannelName("memory"), account=channel.account, chat=ChatId("7"))
    body = TextPart(text="May I?", choices=(Choice(label="Approve", token="ABCDEFGH"),))
    inbox = DirectedInbox(Verdict.DROPPED, Verdict.ACCEPTED)
    await channel.send(OutgoingPart(target=target, body=body, nonce="n"))
    (posted,) = platform.posted
    assert platform.buttons(posted) == ["Approve"]
    platform.user_taps(posted, user="6")
    platform.user_taps(posted, user="42")
    async with listening(channel, inbox):
        with anyio.fail_after(5):
            assert await inbox.was_offered(2) == ["/confirm ABCDEFGH"] * 2
            await platform.acknowledges(2)
    assert platform.refused_taps == ["6"]
    assert channel.buttons is not None
    await channel.buttons.close(target, "ABCDEFGH")
    assert platform.buttons(posted) == []


def test_a_platform_without_buttons_has_a_channel_without_them() -> None:
    assert in_memory(MemoryPlatform()).buttons is None

"""The platform in memory keeps its own words where the suite does not look."""

import anyio
import pytest

from fermix.application.ports.channel import Verdict
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

"""Which channels have drafts and typing: what they lack is not put to the test by the suite."""

import pytest

from fermix.application.ports.channel import ShowsDrafts, ShowsTyping
from fermix.entrypoints.messengers import BUILDERS, WITH_DRAFTS
from fermix.testing.channel_conformance import ChannelHarness, SeesTyping
from tests.contract.channel.discord_far_side import DiscordHarness
from tests.contract.channel.platforms import MemoryHarness
from tests.contract.channel.signal_far_side import SignalHarness
from tests.contract.channel.slack_far_side import SlackHarness
from tests.contract.channel.telegram_far_side import TelegramHarness
from tests.contract.channel.whatsapp_far_side import WhatsAppHarness

pytestmark = pytest.mark.anyio

HARNESSES: dict[str, ChannelHarness] = {
    "telegram": TelegramHarness(),
    "slack": SlackHarness(),
    "discord": DiscordHarness(),
    "whatsapp": WhatsAppHarness(),
    "signal": SignalHarness(),
    "memory": MemoryHarness(),
}
WITHOUT_TYPING = {"slack"}
"""Slack shows a status in threads of assistants, which is another kind of app, and no typing for bots."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("name", HARNESSES)
async def test_drafts_are_where_messages_can_be_changed(name: str) -> None:
    async with HARNESSES[name].open() as opened:
        has_drafts = isinstance(opened.channel, ShowsDrafts) and opened.channel.drafts is not None
    assert has_drafts is (name in {*WITH_DRAFTS, "memory"})


@pytest.mark.parametrize("name", HARNESSES)
async def test_typing_is_where_the_platform_has_it_and_is_seen_there(name: str) -> None:
    async with HARNESSES[name].open() as opened:
        has_typing = isinstance(opened.channel, ShowsTyping) and opened.channel.typing is not None
        assert has_typing is (name not in WITHOUT_TYPING)
        assert isinstance(opened.far_side, SeesTyping) is has_typing


def test_every_messenger_of_ours_is_looked_at() -> None:
    assert HARNESSES.keys() - {"memory"} == BUILDERS.keys()

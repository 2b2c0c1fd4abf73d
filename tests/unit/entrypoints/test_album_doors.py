"""Which channels' messages are held back for the rest of an album, and for how long."""

from datetime import timedelta
from pathlib import Path

import pytest

from fermix.domain.ids import ChannelName
from fermix.entrypoints.channels import door_of
from fermix.infrastructure.settings.model import Settings
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_channel import MemoryChannel, MemoryPlatform
from tests.unit.application.house import TestChannel

CHANNEL = MemoryChannel(MemoryPlatform(), clock=StoppedClock())


def settings(**channels: object) -> Settings:
    layer = {"home": Path("/home/ada/.fermix"), "user_home": Path("/home/ada"), "fermix_channels": channels}
    return Settings.from_layers(layer)


@pytest.mark.requirement("media.album.others_pass_through")
@pytest.mark.parametrize("name", ["discord", "slack", "signal"])
def test_a_channel_that_sends_whole_messages_waits_for_no_album(name: str) -> None:
    assert door_of(ChannelName(name), CHANNEL, settings()).album_debounce is None


@pytest.mark.parametrize("name", ["telegram", "whatsapp"])
def test_a_channel_that_sends_pictures_one_by_one_waits_three_seconds(name: str) -> None:
    assert door_of(ChannelName(name), CHANNEL, settings()).album_debounce == timedelta(seconds=3)


def test_what_hangs_on_messages_is_read_where_the_channel_fetches_it() -> None:
    assert door_of(ChannelName("telegram"), CHANNEL, settings()).reads_media
    assert not door_of(ChannelName("telegram"), TestChannel(), settings()).reads_media


@pytest.mark.parametrize("wait", [0, -1])
def test_a_wait_of_nothing_or_less_gathers_no_albums(wait: int) -> None:
    found = settings(telegram={"album_debounce_ms": wait})
    assert door_of(ChannelName("telegram"), CHANNEL, found).album_debounce is None

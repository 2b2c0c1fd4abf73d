"""Channels of every mode while nobody may write: what starts, what is refused, and what health says."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fermix.application.gateway.health import HealthBoard
from fermix.application.gateway.serve import Served
from fermix.application.ports.channel import Channel
from fermix.application.ports.clock import Clock
from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    OwnerKind,
    ProviderHealth,
    Readiness,
)
from fermix.domain.authorization import Denial, DenialKind, authorise
from fermix.domain.ids import ChannelName, UserId
from fermix.entrypoints.channels import channels_of, door_of, enabled_in_file, initial_health
from fermix.entrypoints.preparation import prepare
from fermix.entrypoints.surroundings import Surroundings, surroundings_of
from fermix.infrastructure.channels.cli.channel import CliChannel
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.policies import policies_of
from fermix.infrastructure.system.clock import SystemClock
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_blobs import MemoryBlobs

AROUND = surroundings_of(Path("/nowhere"), {})
MODES = {
    "telegram": "polling",
    "whatsapp": "webhook",
    "slack": "webhook",
    "discord": "gateway",
    "signal": "subprocess",
}
ALLOWLIST = dict.fromkeys(MODES, "allowed_user_ids") | dict.fromkeys(
    ("whatsapp", "signal"), "allowed_sender_ids"
)
WELL = (ProviderHealth(name="p", model="m", status=Readiness.READY),)


def _channel(_settings: Settings, _clock: Clock, _around: Surroundings) -> Channel:
    return CliChannel(blobs=MemoryBlobs(clock=StoppedClock()))


BUILDERS = dict.fromkeys(MODES, _channel)
"""As if this version had every messenger."""


def settings(folder: Path, text: str) -> Settings:
    home = folder / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(text)
    return prepare(home, {"HOME": str(folder)}).loaded.settings


def served(found: Settings) -> Mapping[ChannelName, Channel]:
    return channels_of(found, OwnerKind.DAEMON, SystemClock(), AROUND, builders=BUILDERS)


def board(found: Settings, channels: Mapping[ChannelName, Channel]) -> HealthBoard:
    doors = {
        name: Served(channel=channel, door=door_of(name, channel, found))
        for name, channel in channels.items()
    }
    return HealthBoard(
        providers=lambda: WELL, channels=initial_health(found, doors), required=enabled_in_file(found)
    )


def status(health: HealthBoard, name: str) -> ChannelHealth:
    return next(one for one in health.health().channels if one.name == name)


@pytest.mark.requirement("config.channel_without_owner_is_not_started")
@pytest.mark.parametrize("keys", ["", "owner_user_id = '*'", "command_allowlist = [1001]", "allow_from = []"])
@pytest.mark.parametrize("name", [name for name, mode in MODES.items() if mode != "webhook"])
def test_a_channel_that_connects_is_refused_in_one_line_and_set_up_is_required(
    tmp_path: Path, name: str, keys: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = settings(tmp_path, f"[fermix_channels.{name}]\nenabled = true\n{keys}\n")
    channels = served(found)
    assert channels == {}
    refusals = [one for one in caplog.records if one.name == "fermix.channels"]
    assert [(one.message, one.__dict__["channel"]) for one in refusals] == [("channel.not_started", name)]
    health = board(found, channels)
    assert health.health().status is Readiness.SETUP_REQUIRED
    assert status(health, name).status is ChannelStatus.SETUP_REQUIRED


@pytest.mark.parametrize("name", [name for name, mode in MODES.items() if mode == "webhook"])
def test_a_webhook_stays_up_refuses_everybody_and_set_up_is_required(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = settings(tmp_path, f"[fermix_channels.{name}]\nenabled = true\ncommand_allowlist = ['1001']\n")
    channels = served(found)
    assert set(channels) == {name}
    assert caplog.records == []
    for sender in ([], [UserId("1001")], [UserId("")]):
        decision = authorise(ChannelName(name), sender, policies_of(found))
        assert isinstance(decision, Denial)
        assert decision.kind is DenialKind.UNAUTHORIZED
    health = board(found, channels)
    assert status(health, name).status is ChannelStatus.SETUP_REQUIRED
    health.channel(ChannelHealth(name=name, status=ChannelStatus.READY))
    assert status(health, name).status is ChannelStatus.SETUP_REQUIRED
    assert health.health().status is Readiness.SETUP_REQUIRED
    health.channel(ChannelHealth(name=name, status=ChannelStatus.DEGRADED, detail="gone"))
    assert health.health().status is Readiness.DEGRADED
    health.channel(ChannelHealth(name=name, status=ChannelStatus.READY))
    assert health.health().status is Readiness.SETUP_REQUIRED


@pytest.mark.parametrize("key", ["owner_user_id = '1001'", "{allowlist} = ['1001']"])
@pytest.mark.parametrize("name", MODES)
def test_somebody_who_may_write_is_enough_for_every_mode(tmp_path: Path, name: str, key: str) -> None:
    entry = key.format(allowlist=ALLOWLIST[name])
    found = settings(tmp_path, f"[fermix_channels.{name}]\nenabled = true\n{entry}\n")
    channels = served(found)
    assert set(channels) == {name}
    assert board(found, channels).health().status is Readiness.READY


def test_a_bot_with_a_token_and_nobody_who_may_write_requires_set_up(tmp_path: Path) -> None:
    found = settings(tmp_path, '[fermix_channels.telegram]\nbot_token = "123456:secret"\n')
    assert board(found, served(found)).health().status is Readiness.SETUP_REQUIRED


@pytest.mark.requirement("config.telegram_enabled_by_default")
@pytest.mark.parametrize("text", ["", "[fermix_channels.telegram]\nowner_user_id = 1001\n"])
def test_a_home_nobody_gave_a_token_is_ready_and_says_nothing(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = settings(tmp_path, text)
    channels = channels_of(found, OwnerKind.DAEMON, SystemClock(), AROUND)
    assert (channels, caplog.records) == ({}, [])
    assert board(found, channels).health().status is Readiness.READY

"""Channels of other packages: which are made, of what, and what is said of those that cannot be."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import pytest

from fermix.application.ports.channel import Channel
from fermix.application.ports.control import ChannelStatus, OwnerKind
from fermix.application.ports.webhooks import Webhook, WebhookAnswer, WebhookRequest
from fermix.domain.ids import ChannelName
from fermix.entrypoints.channels import enabled_in_file, initial_health, open_channels
from fermix.entrypoints.plugin_channels import PluginChannels, details_of, plugin_channels, webhook_paths
from fermix.entrypoints.surroundings import surroundings_of
from fermix.infrastructure.settings.channel_plugin import ChannelPlugin, ChannelSurroundings
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.entry_points import PackageUnusable
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.system.clock import SystemClock
from fermix.plugins import Credential
from fermix.testing.clock import StoppedClock
from fermix.testing.memory_channel import MemoryChannel, MemoryPlatform

HOME = Path("/nowhere")
AROUND = surroundings_of(HOME, {})
CARRIER = ChannelName("carrier")
COMPLETE = "[fermix_channels.carrier]\nenabled = true\nowner_user_id = 1\ntoken = 'hush-hush'\n"


class CarrierSettings(ChannelSettings):
    mode: Literal["polling", "webhook"] = "polling"
    token: Credential | None = None


class _Webhook:
    def __init__(self, path: str) -> None:
        self.path = path
        self.methods = frozenset({"POST"})
        self.max_bytes = 100

    async def answer(self, request: WebhookRequest) -> WebhookAnswer:
        return WebhookAnswer()


class CalledChannel(MemoryChannel):
    """A channel whose platform calls it."""

    def __init__(self, path: str) -> None:
        super().__init__(MemoryPlatform(), clock=StoppedClock())
        self._webhook = _Webhook(path)

    @property
    def webhook(self) -> Webhook:
        return self._webhook


class HeldChannel(MemoryChannel):
    """A channel that fails when it is opened."""

    async def __aenter__(self) -> Channel:
        raise LookupError("hush-hush")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise AssertionError("it was never open")


def in_memory(_own: CarrierSettings, around: ChannelSurroundings) -> Channel:
    return MemoryChannel(MemoryPlatform(), clock=around.clock)


def throws(own: CarrierSettings, _around: ChannelSurroundings) -> Channel:
    raise LookupError(own.token)


def none_at_all(_own: CarrierSettings, _around: ChannelSurroundings) -> Any:
    return "a channel"


def called_at(path: str) -> Callable[[CarrierSettings, ChannelSurroundings], Channel]:
    return lambda _own, _around: CalledChannel(path)


PLUGIN = ChannelPlugin(settings=CarrierSettings, build=in_memory, requires=("token",))


class Brought:
    """One package, with one channel."""

    def __init__(self, plugin: ChannelPlugin[CarrierSettings]) -> None:
        self._plugin = plugin

    def names(self) -> frozenset[str]:
        return frozenset({"carrier"})

    def load(self, name: str) -> ChannelPlugin[CarrierSettings]:
        if self._plugin.look is not None:
            raise PackageUnusable("the package carrier 1.0 cannot be used")
        return self._plugin


def loaded(folder: Path, text: str, plugin: ChannelPlugin[CarrierSettings] = PLUGIN) -> LoadedSettings:
    (folder / "config.toml").write_text(text)
    return load_settings(folder, {"HOME": str(folder)}, plugins=Brought(plugin))


def made(found: LoadedSettings, kind: OwnerKind = OwnerKind.DAEMON) -> PluginChannels:
    return plugin_channels(found.settings, found.plugins, kind, SystemClock(), AROUND)


def health(found: LoadedSettings) -> tuple[ChannelStatus, str | None]:
    details: Mapping[str, str] = details_of(found.settings, found.plugins, made(found))
    (own,) = (one for one in initial_health(found.settings, {}, details) if one.name == "carrier")
    return own.status, own.detail


def test_a_complete_section_makes_a_channel_for_the_daemon_alone(tmp_path: Path) -> None:
    found = loaded(tmp_path, COMPLETE)
    assert made(found).channels.keys() == {CARRIER}
    assert made(found, OwnerKind.IN_PROCESS) == PluginChannels()
    assert enabled_in_file(found.settings) == {"carrier"}


def test_it_is_given_a_folder_of_its_own_and_nothing_of_the_other_settings(tmp_path: Path) -> None:
    given: list[object] = []

    def build(own: CarrierSettings, around: ChannelSurroundings) -> Channel:
        given.extend((type(own), around.folder))
        return in_memory(own, around)

    made(loaded(tmp_path, COMPLETE, replace(PLUGIN, build=build)))
    assert given == [CarrierSettings, HOME / "channels" / "carrier"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COMPLETE.replace("token = 'hush-hush'\n", ""), "token must be set"),
        (COMPLETE.replace("owner_user_id = 1\n", ""), "nobody may write: set owner_user_id or its allowlist"),
    ],
)
def test_what_is_not_complete_is_not_made_and_health_says_why(tmp_path: Path, text: str, said: str) -> None:
    found = loaded(tmp_path, text)
    assert made(found) == PluginChannels()
    assert health(found) == (ChannelStatus.SETUP_REQUIRED, said)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (throws, "LookupError at test_plugin_channels.py"),
        (none_at_all, "AttributeError at plugin_channels.py"),
        (called_at("/webhook/slack"), "its webhook is not at /webhook/carrier"),
    ],
)
def test_what_cannot_be_made_is_told_without_a_secret(tmp_path: Path, build: Any, said: str) -> None:
    found = loaded(tmp_path, COMPLETE, replace(PLUGIN, build=build))
    status, detail = health(found)
    assert status is ChannelStatus.SETUP_REQUIRED
    assert said in str(detail)
    assert "hush" not in str(detail)


def test_a_package_that_cannot_be_used_needs_set_up_in_its_own_words(tmp_path: Path) -> None:
    def never(_own: CarrierSettings) -> Any:
        raise AssertionError

    found = loaded(tmp_path, COMPLETE, replace(PLUGIN, look=never))
    assert health(found) == (ChannelStatus.SETUP_REQUIRED, "the package carrier 1.0 cannot be used")


def test_a_webhook_is_served_at_the_channels_own_path_even_while_nobody_may_write(tmp_path: Path) -> None:
    text = "[fermix_channels.carrier]\nenabled = true\nmode = 'webhook'\ntoken = 'x'\n"
    found = loaded(tmp_path, text, replace(PLUGIN, build=called_at("/webhook/carrier")))
    assert made(found).channels.keys() == {CARRIER}


def test_the_path_of_a_channel_that_is_switched_off_is_still_answered(tmp_path: Path) -> None:
    found = loaded(tmp_path, "[fermix_channels.carrier]\nenabled = false\n")
    assert webhook_paths(found.settings) == ("/webhook/whatsapp", "/webhook/slack", "/webhook/carrier")


@pytest.mark.anyio
async def test_a_channel_that_fails_when_it_is_opened_holds_up_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = HeldChannel(MemoryPlatform(), clock=StoppedClock())
    async with AsyncExitStack() as stack:
        await open_channels(stack, {CARRIER: held}, foreign={CARRIER})
    (record,) = caplog.records
    assert record.getMessage() == "channel.not_opened"
    with pytest.raises(LookupError):
        async with AsyncExitStack() as stack:
            await open_channels(stack, {CARRIER: held})

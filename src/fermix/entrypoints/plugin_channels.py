"""Channels of other packages: made of their own settings, and none of their troubles is anybody else's."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fermix.application.ports.channel import Channel, ChannelFeatures
from fermix.application.ports.clock import Clock
from fermix.application.ports.control import OwnerKind
from fermix.application.ports.webhooks import TakesWebhooks
from fermix.domain.ids import ChannelName
from fermix.domain.transport import is_started, transport_named
from fermix.entrypoints.messengers import BUILDERS, WEBHOOK_PATHS
from fermix.entrypoints.surroundings import Surroundings
from fermix.infrastructure.settings.channel_plugin import ChannelSurroundings
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.entry_points import PackageUnusable, foreign_code
from fermix.infrastructure.settings.foreign_sections import AnyPlugin, UnreadChannel, troubles_of
from fermix.infrastructure.settings.model import Settings

_log = logging.getLogger("fermix.channels")

Plugins = Mapping[str, AnyPlugin]
"""The channels of other packages that are enabled, by their section's name."""

NO_PLUGINS: Plugins = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChannels:
    """What became of the channels of other packages.

    Attributes:
        channels: those that could be made.
        troubles: why the others could not, by their section's name.
    """

    channels: Mapping[ChannelName, Channel] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)


def plugin_channels(
    settings: Settings, plugins: Plugins, kind: OwnerKind, clock: Clock, around: Surroundings
) -> PluginChannels:
    """Make the channels of other packages that are to be served, by the rules that hold for ours.

    One that cannot be made is told in the log and in health; the others follow.
    """
    if kind is OwnerKind.IN_PROCESS:
        return PluginChannels()
    channels: dict[ChannelName, Channel] = {}
    troubles: dict[str, str] = {}
    for name, own in settings.channels.by_name().items():
        plugin = plugins.get(name)
        transport = transport_named(getattr(own, "mode", None))
        if plugin is None or not is_started(transport, somebody_may_write=own.has_access):
            continue
        if missing_keys(plugin, own):
            continue
        try:
            channels[ChannelName(name)] = _made(name, plugin, own, clock, around)
        except PackageUnusable as exc:
            troubles[name] = str(exc)
            _log.error("channel.not_started", extra={"channel": name, "cause": str(exc)}, exc_info=exc)
    return PluginChannels(channels=channels, troubles=troubles)


def missing_keys(plugin: AnyPlugin, own: ChannelSettings) -> tuple[str, ...]:
    """What the channel cannot be made without and the section does not have."""
    return tuple(key for key in plugin.requires if getattr(own, key) in (None, "", ()))


def details_of(settings: Settings, plugins: Plugins, made: PluginChannels) -> Mapping[str, str]:
    """Why a channel of another package is not served, for those that are not."""
    details: dict[str, str] = dict(troubles_of(settings.channels)) | dict(made.troubles)
    for name, plugin in plugins.items():
        own = settings.channels.by_name()[name]
        missing = () if isinstance(own, UnreadChannel) else missing_keys(plugin, own)
        if name not in details and missing:
            details[name] = f"{' and '.join(missing)} must be set"
    return details


def webhook_paths(settings: Settings) -> tuple[str, ...]:
    """Where platforms may call us: ours, and that of every section that is there; most of them say nothing."""
    names = settings.channels.by_name().keys() - BUILDERS.keys()
    return (*WEBHOOK_PATHS.values(), *map(webhook_path, sorted(names)))


def webhook_path(name: str) -> str:
    """Where the platform of a channel of another package calls us."""
    return f"/webhook/{name}"


def _made(name: str, plugin: AnyPlugin, own: ChannelSettings, clock: Clock, around: Surroundings) -> Channel:
    package = plugin.settings.__module__.partition(".")[0]
    with foreign_code(package):
        channel: Channel = plugin.build(
            own,
            ChannelSurroundings(
                clock=clock,
                blobs=around.blobs,
                folder=around.home / "channels" / name,
                proxy_for=around.proxy_for,
            ),
        )
        account, features = channel.account, channel.features
        path = channel.webhook.path if isinstance(channel, TakesWebhooks) else webhook_path(name)
    if not isinstance(account, str) or not account or not isinstance(features, ChannelFeatures):
        raise PackageUnusable(f"the package {package} cannot be used: its build made no channel")
    if path != webhook_path(name):
        raise PackageUnusable(
            f"the package {package} cannot be used: its webhook is not at {webhook_path(name)}"
        )
    return channel

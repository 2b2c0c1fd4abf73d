"""The sections of channels that other packages bring: read by their own classes, and only where enabled."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypeAlias

from pydantic import ValidationError

from fermix.infrastructure.settings.channel_plugin import ChannelPlugin
from fermix.infrastructure.settings.channels import Channels, ChannelSettings
from fermix.infrastructure.settings.entry_points import (
    FindEntryPoints,
    Offers,
    PackageUnusable,
    foreign_code,
    installed_entry_points,
)
from fermix.infrastructure.settings.explain import findings_of
from fermix.infrastructure.settings.keys import ABSENT, KeyFinding, keys_of
from fermix.infrastructure.settings.section import FromCode

CHANNEL_GROUP = "fermix.channels"
"""The entry-point group of channels."""

RESERVED_NAMES = frozenset(
    {
        "cli",
        "daemon",
        "defaults",
        *keys_of(Channels),
        *(path[1] for path in ABSENT if path[0] == "fermix_channels"),
    }
)
"""Names that no channel of another package can have: the terminal's, and every channel's that is known here."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")

AnyPlugin: TypeAlias = ChannelPlugin[Any]


class ChannelPlugins(Protocol):
    """The channels that other packages bring."""

    def names(self) -> Collection[str]:
        """What they are called; nothing is loaded for it."""
        ...

    def load(self, name: str) -> AnyPlugin:
        """Import one.

        Raises:
            PackageUnusable: it cannot be used.
        """
        ...


class InstalledChannels:
    """The `ChannelPlugins` of the packages that are installed beside this one."""

    def __init__(self, find: FindEntryPoints = installed_entry_points) -> None:
        self._offers = Offers(group=CHANNEL_GROUP, kind=ChannelPlugin, find=find)

    def names(self) -> frozenset[str]:
        """See `ChannelPlugins.names`; names that nobody may take are left out."""
        return frozenset(name for name in self._offers.names() if is_free(name))

    def load(self, name: str) -> AnyPlugin:
        """See `ChannelPlugins.load`."""
        return self._offers.load(name)

    def packages(self) -> Mapping[str, tuple[str, ...]]:
        """The packages that offer each name, reserved ones included."""
        return self._offers.packages()


INSTALLED = InstalledChannels()
"""Looks anew each time it is asked."""


def is_free(name: str) -> bool:
    """Whether a channel of another package may be called so.

    Small letters, digits, `_` and `-`, at most 32: the name stands in keys of messages and in addresses.
    """
    return _NAME.fullmatch(name) is not None and name not in RESERVED_NAMES


class UnreadChannel(ChannelSettings):
    """Stands for a section that was not read: it is not enabled, or its package cannot be used."""

    trouble: Annotated[str | None, FromCode()] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSections:
    """What the file says of channels of other packages.

    Attributes:
        plugins: those that are enabled and could be loaded.
        unread: stand-ins for the other sections.
    """

    plugins: Mapping[str, AnyPlugin]
    unread: Mapping[str, UnreadChannel]

    @property
    def classes(self) -> Mapping[str, type[ChannelSettings]]:
        """The settings class of each plugin."""
        return {name: plugin.settings for name, plugin in self.plugins.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSections:
    """Sections turned into settings; `findings` says what is wrong with the values of the others."""

    settings: Mapping[str, ChannelSettings]
    findings: tuple[KeyFinding, ...] = field(default=())


def find_foreign(table: Mapping[str, Any], plugins: ChannelPlugins) -> ForeignSections:
    """Load the plugin of each section that is enabled; one that says so in an odd way is left for its class."""
    sections = _sections(table)
    strangers = [name for name in sections if is_free(name)]
    installed = plugins.names() if strangers else ()
    loaded: dict[str, AnyPlugin] = {}
    unread: dict[str, UnreadChannel] = {}
    for name in strangers:
        section = sections[name]
        if name not in installed:
            continue
        if isinstance(section, Mapping) and section.get("enabled", False) is False:
            unread[name] = UnreadChannel(enabled=False)
            continue
        try:
            loaded[name] = plugins.load(name)
        except PackageUnusable as exc:
            unread[name] = UnreadChannel(enabled=True, trouble=str(exc))
    return ForeignSections(plugins=loaded, unread=unread)


def read_foreign(table: Mapping[str, Any], foreign: ForeignSections) -> ReadSections:
    """Let each plugin's class read its section; a class that fails in another way than by refusing is trouble."""
    settings: dict[str, ChannelSettings] = dict(foreign.unread)
    findings: list[KeyFinding] = []
    sections = _sections(table)
    for name, plugin in foreign.plugins.items():
        if name not in sections:
            continue
        try:
            with foreign_code(plugin.settings.__module__):
                settings[name] = plugin.settings.model_validate(sections[name])
        except ValidationError as exc:
            findings += findings_of(exc, prefix=("fermix_channels", name), tables=(table,))
        except PackageUnusable as exc:
            settings[name] = UnreadChannel(enabled=True, trouble=str(exc))
    return ReadSections(settings=settings, findings=tuple(findings))


def troubles_of(channels: Channels) -> Iterator[tuple[str, str]]:
    """Every enabled channel whose package cannot be used, and why."""
    for name, channel in channels.by_name().items():
        if isinstance(channel, UnreadChannel) and channel.trouble is not None:
            yield name, channel.trouble


def _sections(table: Mapping[str, Any]) -> Mapping[str, Any]:
    sections = table.get("fermix_channels")
    return sections if isinstance(sections, Mapping) else {}

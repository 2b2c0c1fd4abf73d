"""The owner's decisions, as the settings state them."""

from fermix.domain.authorization import ChannelAccess, Policies
from fermix.domain.ids import ChannelName, UserId
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.model import Settings


def access_of(channel: ChannelSettings) -> ChannelAccess:
    """Who may use one channel; odd entries match nobody and are left out."""
    return ChannelAccess(
        owner=None if channel.owner is None else UserId(channel.owner),
        allowed=frozenset(UserId(entry) for entry in channel.allowed_ids),
        command_allowlist=frozenset(UserId(entry) for entry in channel.command_ids),
    )


def policies_of(settings: Settings) -> Policies:
    """The policies that these settings state."""
    return Policies(
        channels={
            ChannelName(name): access_of(channel) for name, channel in settings.channels.by_name().items()
        }
    )


class SettingsPolicies:
    """The `PolicySource` port; the value is replaced whole when the owner edits the file."""

    def __init__(self, *, settings: Settings) -> None:
        self._current = policies_of(settings)

    def current(self) -> Policies:
        """The policies in force."""
        return self._current

    def replace(self, settings: Settings) -> bool:
        """Put other settings in force; returns whether anything changed."""
        new = policies_of(settings)
        changed = new != self._current
        self._current = new
        return changed

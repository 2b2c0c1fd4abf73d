"""What is valid and probably not meant: said by whoever edits or looks at the settings, never a reason to stop."""

from collections.abc import Iterator

from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import dotted
from fermix.infrastructure.settings.value_text import toml_text

_LONGEST_SHOWN = 40
_MOST_SHOWN = 10


def odd_ids(name: str, channel: ChannelSettings) -> Iterator[str]:
    """One line for the entries of a channel's id keys that can match nobody."""
    odd = [toml_text(_short(entry)) for entry in channel.odd_entries]
    if odd:
        more = f" and {len(odd) - _MOST_SHOWN} more" if len(odd) > _MOST_SHOWN else ""
        shown = ", ".join(odd[:_MOST_SHOWN]) + more
        yield f"{dotted(('fermix_channels', name))}: {shown} can match nobody"


def nobody_may_write(name: str, channel: ChannelSettings) -> Iterator[str]:
    """One line for a channel that was enabled in so many words and has neither owner nor allowlist."""
    if channel.enabled and "enabled" in channel.model_fields_set and not channel.has_access:
        allowlist = type(channel).model_fields["allowlist"].alias
        place = dotted(("fermix_channels", name))
        yield f"{place}: every message will be denied until owner_user_id or {allowlist} is set"


def provider_trouble(settings: Settings) -> Iterator[str]:
    """One line when no provider could answer with these settings, or when the choice needs a word."""
    try:
        note = choose_provider(settings, local_available=True).note
    except ProviderChoiceError as exc:
        note = str(exc)
    if note is not None:
        yield note


def _short(entry: str) -> str:
    return entry if len(entry) <= _LONGEST_SHOWN else f"{entry[:_LONGEST_SHOWN]}…"

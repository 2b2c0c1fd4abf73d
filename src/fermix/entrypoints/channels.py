"""Which channels this process serves, by what doors their messages come in, and how they stand at the start."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from fermix.application.gateway.serve import Served
from fermix.application.gateway.stages import Door
from fermix.application.operations.ask import CLI_CHANNEL, CLI_DOOR
from fermix.application.ports.channel import Channel
from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    OwnerKind,
    ProviderHealth,
    Readiness,
)
from fermix.application.ports.models import Models
from fermix.domain import wording
from fermix.domain.authorization import LOCAL_CHANNELS
from fermix.domain.ids import ChannelName
from fermix.domain.normalise import Registration
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.model import Settings

ChannelBuilder = Callable[[Settings], Channel | None]
"""Makes a channel from the settings, importing its library inside; `None` while it lacks a credential."""

BUILDERS: Mapping[str, ChannelBuilder] = {}
"""One registration per messenger. A messenger that is not here is not part of this version."""


def channels_of(settings: Settings, kind: OwnerKind) -> Mapping[ChannelName, Channel]:
    """The remote channels to serve: enabled, with credential, and with somebody who may write.

    An owner that answers in-process serves none: their messages wait for the daemon.
    """
    if kind is OwnerKind.IN_PROCESS:
        return {}
    channels: dict[ChannelName, Channel] = {}
    for name, own in settings.channels.by_name().items():
        builder = BUILDERS.get(name)
        if builder is None or not own.enabled or not own.has_access:
            continue
        channel = builder(settings)
        if channel is not None:
            channels[ChannelName(name)] = channel
    return channels


def doors(
    settings: Settings, local: Channel, remote: Mapping[ChannelName, Channel]
) -> Mapping[ChannelName, Served]:
    """Every channel this process serves, with its door.

    Raises:
        ValueError: a remote channel is registered under a name of the control socket.
    """
    reserved = LOCAL_CHANNELS & remote.keys()
    if reserved:
        raise ValueError(f"{', '.join(sorted(reserved))}: the name belongs to the control socket")
    served = {CLI_CHANNEL: Served(channel=local, door=CLI_DOOR)}
    for name, channel in remote.items():
        served[name] = Served(channel=channel, door=door_of(name, channel, settings))
    return served


def door_of(name: ChannelName, channel: Channel, settings: Settings) -> Door:
    """The door of a remote channel: its name is stamped here, whatever its messages say."""
    own = settings.channels.by_name().get(name)
    debounce = getattr(own, "album_debounce_ms", 0)
    return Door(
        registration=Registration(channel=name, account=channel.account),
        features=channel.features,
        bot_name=None if own is None else own.bot_name,
        album_debounce=timedelta(milliseconds=debounce) if debounce > 0 else None,
    )


def enabled_in_file(own: ChannelSettings) -> bool:
    """Whether the owner enabled the channel in so many words (Telegram is enabled by default)."""
    return own.enabled and "enabled" in own.model_fields_set


def initial_health(settings: Settings, served: Mapping[ChannelName, Served]) -> tuple[ChannelHealth, ...]:
    """How every known channel stands before the first one has run."""
    return tuple(
        _health(name, own, ChannelName(name) in served) for name, own in settings.channels.by_name().items()
    )


def _health(name: str, own: ChannelSettings, is_served: bool) -> ChannelHealth:
    if not own.enabled:
        return ChannelHealth(name=name, status=ChannelStatus.DISABLED)
    if is_served:
        return ChannelHealth(name=name, status=ChannelStatus.READY)
    if name not in BUILDERS:
        detail = "this version cannot serve it yet"
    elif not own.has_access:
        detail = "nobody may write: set owner_user_id or its allowlist"
    else:
        detail = "its credential is missing"
    return ChannelHealth(name=name, status=ChannelStatus.SETUP_REQUIRED, detail=detail)


def provider_health(settings: Settings, models: Models) -> Callable[[], tuple[ProviderHealth, ...]]:
    """Asked each time health is, since a model may be installed while the daemon runs."""

    def health() -> tuple[ProviderHealth, ...]:
        profile = models.primary()
        if profile is not None:
            return (ProviderHealth(name=profile.provider, model=profile.model, status=Readiness.READY),)
        try:
            name = choose_provider(settings, local_available=True).name
        except ProviderChoiceError as exc:
            return (
                ProviderHealth(
                    name=exc.provider or "none",
                    model=None,
                    status=Readiness.SETUP_REQUIRED,
                    detail=str(exc),
                ),
            )
        return (
            ProviderHealth(
                name=name, model=None, status=Readiness.SETUP_REQUIRED, detail=wording.NO_MODEL_YET
            ),
        )

    return health

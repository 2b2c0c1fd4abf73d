"""Which channels this process serves, by what doors their messages come in, and how they stand at the start."""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from datetime import timedelta

from fermix.application.gateway.serve import Served
from fermix.application.gateway.stages import Door
from fermix.application.operations.ask import CLI_CHANNEL, CLI_DOOR
from fermix.application.ports.admissions import LISTENING
from fermix.application.ports.channel import Channel, ChannelFeatures
from fermix.application.ports.clock import Clock
from fermix.application.ports.control import (
    ChannelHealth,
    ChannelStatus,
    OwnerKind,
    ProviderHealth,
    Readiness,
)
from fermix.application.ports.conversations import QueueView
from fermix.application.ports.models import Models
from fermix.domain import wording
from fermix.domain.authorization import LOCAL_CHANNELS
from fermix.domain.ids import ChannelName
from fermix.domain.normalise import Registration
from fermix.domain.streaming.mode import StreamingMode
from fermix.domain.transport import is_started, transport_named
from fermix.entrypoints.messengers import BUILDERS, ChannelBuilder, missing_library
from fermix.entrypoints.surroundings import Surroundings
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.model import Settings

_log = logging.getLogger("fermix.channels")

NOBODY_MAY_WRITE = "nobody may write: set owner_user_id or its allowlist"


def channels_of(
    settings: Settings,
    kind: OwnerKind,
    clock: Clock,
    around: Surroundings,
    *,
    builders: Mapping[str, ChannelBuilder] = BUILDERS,
) -> Mapping[ChannelName, Channel]:
    """The remote channels to serve: enabled, with credential, and with somebody who may write.

    Only a webhook is served while nobody may write; whoever writes is refused. An owner that answers
    in-process serves none: their messages wait for the daemon.
    """
    if kind is OwnerKind.IN_PROCESS:
        return {}
    channels: dict[ChannelName, Channel] = {}
    for name, own in settings.channels.by_name().items():
        if not own.enabled:
            continue
        transport = transport_named(getattr(own, "mode", None))
        if not is_started(transport, somebody_may_write=own.has_access):
            if own.model_fields_set:
                _log.warning("channel.not_started", extra={"channel": name, "cause": NOBODY_MAY_WRITE})
            continue
        builder = builders.get(name)
        if builder is None or missing_library(name):
            continue
        channel = builder(settings, clock, around)
        if channel is not None:
            channels[ChannelName(name)] = channel
    return channels


async def open_channels(stack: AsyncExitStack, channels: Mapping[ChannelName, Channel]) -> None:
    """Let channels that hold connections close them when the stack does."""
    for channel in channels.values():
        if isinstance(channel, AbstractAsyncContextManager):
            await stack.enter_async_context(channel)


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


async def with_cursors(
    served: Mapping[ChannelName, Served], queue: QueueView
) -> Mapping[ChannelName, Served]:
    """The channels, each to go on from where it had read when the last process ended.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    return {
        name: replace(one, cursor=await queue.cursor(origin=one.door.registration.origin, scope=LISTENING))
        for name, one in served.items()
    }


def features_of(served: Mapping[ChannelName, Served]) -> Mapping[ChannelName, ChannelFeatures]:
    """What each served channel can carry."""
    return {name: one.door.features for name, one in served.items()}


def streaming_modes(settings: Settings) -> Mapping[ChannelName, StreamingMode]:
    """How the owner wants each channel's answers shown while they are written."""
    return {
        ChannelName(name): StreamingMode(own.streaming) for name, own in settings.channels.by_name().items()
    }


def enabled_in_file(settings: Settings) -> frozenset[str]:
    """The channels that the owner asked for: enabled in so many words, or by default and given a bot's token."""
    return frozenset(
        name
        for name, own in settings.channels.by_name().items()
        if own.enabled and ("enabled" in own.model_fields_set or getattr(own, "bot_token", None) is not None)
    )


def initial_health(settings: Settings, served: Mapping[ChannelName, Served]) -> tuple[ChannelHealth, ...]:
    """How every known channel stands before the first one has run."""
    return tuple(
        _health(name, own, ChannelName(name) in served) for name, own in settings.channels.by_name().items()
    )


def _health(name: str, own: ChannelSettings, is_served: bool) -> ChannelHealth:
    if not own.enabled:
        return ChannelHealth(name=name, status=ChannelStatus.DISABLED)
    if is_served and own.has_access:
        return ChannelHealth(name=name, status=ChannelStatus.READY)
    if not is_served and name not in BUILDERS:
        detail = "this version cannot serve it yet"
    elif not own.has_access:
        detail = NOBODY_MAY_WRITE
    elif (command := missing_library(name)) is not None:
        detail = f"its library is missing: {command}"
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

"""Which channels this process serves, by what doors their messages come in, and how they stand at the start."""

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

from fermix.application.gateway.serve import Served
from fermix.application.gateway.stages import Door
from fermix.application.operations.ask import CLI_CHANNEL, CLI_DOOR
from fermix.application.ports.admissions import LISTENING
from fermix.application.ports.channel import Channel, ChannelFeatures, drafts_of, media_sources_of
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
from fermix.infrastructure.settings.entry_points import PackageUnusable, foreign_code
from fermix.infrastructure.settings.foreign_sections import UnreadChannel
from fermix.infrastructure.settings.model import Settings

_log = logging.getLogger("fermix.channels")

NOTHING_FOREIGN: Mapping[str, str] = MappingProxyType({})

NO_DRAFTS = 'messages cannot be changed there: streaming = "draft" does nothing, "block" works'
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
        if not own.enabled or isinstance(own, UnreadChannel):
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
    _warn_of_drafts_in_vain(settings, channels)
    return channels


def _warn_of_drafts_in_vain(settings: Settings, channels: Mapping[ChannelName, Channel]) -> None:
    """Say once, at the start, where answers come as usual although drafts were asked for."""
    able = drafts_of(channels)
    for name, mode in streaming_modes(settings).items():
        if mode is StreamingMode.DRAFT and name in channels and name not in able:
            _log.warning("channel.no_drafts", extra={"channel": name, "cause": NO_DRAFTS})


async def open_channels(
    stack: AsyncExitStack,
    channels: Mapping[ChannelName, Channel],
    *,
    foreign: Collection[ChannelName] = (),
) -> None:
    """Let channels that hold connections close them when the stack does.

    Args:
        stack: what closes them.
        channels: all that are served.
        foreign: those of other packages. One that cannot be opened is told in the log; what then fails in it
            while it is run shows in health.
    """
    for name, channel in channels.items():
        if not isinstance(channel, AbstractAsyncContextManager):
            continue
        if name not in foreign:
            await stack.enter_async_context(channel)
            continue
        try:
            with foreign_code(type(channel).__module__):
                await stack.enter_async_context(channel)
        except PackageUnusable as exc:
            _log.error("channel.not_opened", extra={"channel": name, "cause": str(exc)}, exc_info=exc)


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
        reads_media=bool(media_sources_of({name: channel})),
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


def initial_health(
    settings: Settings, served: Mapping[ChannelName, Served], foreign: Mapping[str, str] = NOTHING_FOREIGN
) -> tuple[ChannelHealth, ...]:
    """How every known channel stands before the first one has run.

    Args:
        settings: every channel's section.
        served: the channels that this process serves.
        foreign: why channels of other packages cannot be served, by name.
    """
    return tuple(
        _health(name, own, ChannelName(name) in served, foreign.get(name))
        for name, own in settings.channels.by_name().items()
    )


def _health(name: str, own: ChannelSettings, is_served: bool, trouble: str | None) -> ChannelHealth:
    mode = getattr(own, "mode", None)
    if not own.enabled:
        return ChannelHealth(name=name, status=ChannelStatus.DISABLED, mode=mode)
    if is_served and own.has_access:
        return ChannelHealth(name=name, status=ChannelStatus.READY, mode=mode)
    if trouble is not None:
        detail = trouble
    elif not own.has_access:
        detail = NOBODY_MAY_WRITE
    elif not is_served and name not in BUILDERS:
        detail = "this version cannot serve it yet"
    elif (command := missing_library(name)) is not None:
        detail = f"its library is missing: {command}"
    else:
        detail = "its credential is missing"
    return ChannelHealth(name=name, status=ChannelStatus.SETUP_REQUIRED, detail=detail, mode=mode)


def provider_health(settings: Settings, models: Models) -> Callable[[], tuple[ProviderHealth, ...]]:
    """Asked each time health is, since a model may be installed while the daemon runs."""

    def health() -> tuple[ProviderHealth, ...]:
        profile = models.primary()
        if profile is not None:
            section = settings.core.providers.get(profile.provider)
            return (
                ProviderHealth(
                    name=profile.provider,
                    model=profile.model,
                    status=Readiness.READY,
                    auth_mode=None if section is None else section.auth_mode,
                    primary=section is not None and section.primary,
                ),
            )
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

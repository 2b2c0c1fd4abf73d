"""The messengers of this version: how each is made of its settings, and what is known of it without loading it."""

import logging
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from fermix.application.commands.registry import COMMANDS
from fermix.application.ports.channel import Channel
from fermix.application.ports.clock import Clock
from fermix.entrypoints.surroundings import Surroundings
from fermix.infrastructure.local_socket.place import UnsafeFolder, make_private
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.system.footprint import without

_log = logging.getLogger("fermix.channels")

ChannelBuilder = Callable[[Settings, Clock, Surroundings], Channel | None]
"""Makes a channel from the settings, importing its library inside; `None` while it lacks a credential."""

OFFICIAL_TELEGRAM = "https://api.telegram.org"


def _telegram(settings: Settings, clock: Clock, around: Surroundings) -> Channel | None:
    own = settings.channels.telegram
    if own.bot_token is None:
        return None
    with without("cryptography"):  # for Telegram Passport, which nobody asks of a bot like ours; 7 MiB
        from fermix.infrastructure.channels.telegram import (  # noqa: PLC0415 - imports its library
            api,
            channel,
            pace,
            token_lock,
        )

    token, folder = own.bot_token.get_secret_value(), _lock_folder(around)
    # A server of one's own passes on what Telegram refuses; how fast it takes messages it says itself.
    limits = pace.TELEGRAM if own.api_base_url == OFFICIAL_TELEGRAM else None
    return channel.TelegramChannel(
        api=api.BotApi(
            token=token,
            root=own.api_base_url,
            blobs=around.blobs,
            proxy=around.proxy_for(own.api_base_url),
        ),
        account=channel.account_of(token),
        commands=COMMANDS,
        pace=pace.Pace(limits),
        clock=clock,
        listening=channel.Listening(
            lock=token_lock.lock_of(token, folder=folder, home=around.home) if folder else None
        ),
    )


def _whatsapp(settings: Settings, clock: Clock, around: Surroundings) -> Channel | None:
    own = settings.channels.whatsapp
    if own.access_token is None or not own.phone_number_id or not own.app_secret or not own.verify_token:
        return None
    from fermix.infrastructure.channels.whatsapp import (  # noqa: PLC0415 - only where it is enabled
        channel,
        graph,
        webhook,
    )

    place = graph.GraphPlace(
        root=own.graph_base_url.rstrip("/"),
        version=own.graph_version,
        phone_number_id=own.phone_number_id,
        access_token=own.access_token.get_secret_value(),
    )
    return channel.WhatsAppChannel(
        graph=graph.Graph(place, proxy=around.proxy_for(own.graph_base_url)),
        proofs=webhook.Proofs(
            app_secret=own.app_secret.get_secret_value(), verify_token=own.verify_token.get_secret_value()
        ),
        blobs=around.blobs,
        clock=clock,
    )


def _signal(settings: Settings, clock: Clock, around: Surroundings) -> Channel | None:
    own = settings.channels.signal
    if not own.account:
        return None
    from fermix.infrastructure.channels.signal import build  # noqa: PLC0415 - only where it is enabled

    return build.signal_channel(
        account=own.account,
        program=own.cli_path,
        lasting=own.transport == "jsonrpc",
        clock=clock,
        place=build.Place(home=around.home, environment=around.child_environment, blobs=around.blobs),
    )


def _discord(settings: Settings, clock: Clock, around: Surroundings) -> Channel | None:
    own = settings.channels.discord
    if own.bot_token is None:
        return None
    from fermix.infrastructure.channels.discord import (  # noqa: PLC0415 - imports its library
        channel,
        rest,
    )

    token = own.bot_token.get_secret_value()
    return channel.DiscordChannel(
        requests=rest.Requests(
            token=token, root=own.api_base_url, clock=clock, proxy=around.proxy_for(own.api_base_url)
        ),
        account=channel.account_of(token, otherwise=own.bot_user_id),
        commands=COMMANDS,
        gateway=own.gateway_url,
        blobs=around.blobs,
        clock=clock,
    )


def _slack(settings: Settings, clock: Clock, around: Surroundings) -> Channel | None:
    own = settings.channels.slack
    proof = own.app_token if own.mode == "socket" else own.signing_secret
    if own.bot_token is None or not proof:
        return None
    from fermix.infrastructure.channels.slack import (  # noqa: PLC0415 - imports its library
        channel,
        socket_mode,
        web_api,
        webhook,
    )

    token, by_socket = own.bot_token.get_secret_value(), own.mode == "socket"
    api = web_api.SlackApi(token=token, root=own.api_base_url, proxy=around.proxy_for(own.api_base_url))
    return channel.SlackChannel(
        api=api,
        account=channel.account_of(token),
        webhook=webhook.SlackWebhook(
            signing_secret="" if by_socket else proof.get_secret_value(),
            clock=clock,
            command_names=channel.names_of(COMMANDS),
        ),
        blobs=around.blobs,
        clock=clock,
        socket=socket_mode.SlackSocket(api=api, app_token=proof.get_secret_value()) if by_socket else None,
    )


def _lock_folder(around: Surroundings) -> Path | None:
    """The private folder for locks, or nothing where there can be none: then nobody looks for other homes."""
    try:
        make_private(around.runtime_folder, os.getuid())
    except UnsafeFolder as exc:
        _log.warning("channel.no_lock", extra={"cause": str(exc)})
        return None
    return around.runtime_folder


BUILDERS: Mapping[str, ChannelBuilder] = {
    "telegram": _telegram,
    "whatsapp": _whatsapp,
    "slack": _slack,
    "signal": _signal,
    "discord": _discord,
}
"""One registration per messenger. A messenger that is not here is not part of this version."""

WITH_DRAFTS = frozenset({"telegram", "slack", "discord"})
"""Messengers whose channel can show drafts, for whoever must know without loading one."""

WEBHOOK_PATHS: Mapping[str, str] = {"whatsapp": "/webhook/whatsapp", "slack": "/webhook/slack"}
"""Where platforms call us; a path whose channel is not served says nothing and is not given up."""

LIBRARIES: Mapping[str, str] = {"telegram": "telegram", "slack": "slack_bolt", "discord": "discord"}
"""The module that a messenger needs and that an extra of its own name installs."""


def missing_library(name: str) -> str | None:
    """The command that installs what a messenger needs; `None` when it is there."""
    module = LIBRARIES.get(name)
    return f"pip install 'fermix-agent[{name}]'" if module and find_spec(module) is None else None

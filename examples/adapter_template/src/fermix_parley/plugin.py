"""What the entry point names: the section `[fermix_channels.parley]`, and how the channel is made of it.

This module is read by every `fermix` command once the channel is enabled, so it imports nothing heavy.
"""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from fermix.application.ports.channel import Channel
from fermix.plugins import (
    ChannelPlugin,
    ChannelSettings,
    ChannelSurroundings,
    Credential,
    Identifiers,
    SetupReport,
    Text,
)


class ParleySettings(ChannelSettings):
    """A Parley bot, which asks its server for messages."""

    plausible_id: ClassVar[re.Pattern[str]] = re.compile(r"[a-z][a-z0-9]*")

    mode: Literal["polling"] = "polling"
    """Only `polling`: the channel asks, nobody calls it."""
    allowlist: Identifiers = Field(default=(), alias="allowed_nicknames")
    """Others who may write, as guests; `allow_from` is another name for this key."""
    token: Credential | None = None
    """What the server gave the bot: its nickname, a colon, and a secret."""
    host: Text = "127.0.0.1"
    """Where the server is."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 7117
    """And at which port."""

    @property
    def nickname(self) -> str:
        """The bot's own; empty when the token does not name it."""
        token = "" if self.token is None else self.token.get_secret_value()
        name, colon, _ = token.partition(":")
        return name if colon else ""


def build(settings: ParleySettings, around: ChannelSurroundings) -> Channel:
    """Make the channel; nothing is asked yet."""
    from fermix_parley.channel import ParleyChannel  # noqa: PLC0415 - only where it is served
    from fermix_parley.line import Server  # noqa: PLC0415

    token = "" if settings.token is None else settings.token.get_secret_value()
    return ParleyChannel(
        server=Server(host=settings.host, port=settings.port),
        token=token,
        account=settings.nickname or "parley",
        clock=around.clock,
    )


def look(settings: ParleySettings) -> SetupReport:
    """The channel's row in `fermix doctor`; it asks nobody."""
    where = f"{settings.host}:{settings.port}"
    if not settings.nickname:
        return SetupReport(
            is_well=False,
            sentence="the token does not name its bot",
            remedy="copy the whole token: nickname, colon, secret",
        )
    return SetupReport(sentence=f"speaks as {settings.nickname} to {where}, not encrypted")


PLUGIN = ChannelPlugin(settings=ParleySettings, build=build, requires=("token",), look=look)
"""The entry point `parley` in the group `fermix.channels`."""

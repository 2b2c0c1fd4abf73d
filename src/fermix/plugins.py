"""What a package imports that brings Fermix a channel; `docs/adapters.md` leads through it.

The ports are in `fermix.application.ports`, the words they speak in `fermix.domain`, and the proof that an adapter
keeps its promises in `fermix.testing`. Whatever else lies in `fermix` may change with any version.
"""

from fermix.infrastructure.settings.channel_plugin import ChannelPlugin, ChannelSurroundings, SetupReport
from fermix.infrastructure.settings.channels import ChannelSettings
from fermix.infrastructure.settings.foreign_sections import CHANNEL_GROUP, RESERVED_NAMES
from fermix.infrastructure.settings.section import (
    Credential,
    FilePath,
    Identifier,
    Identifiers,
    PlatformId,
    Secret,
    SocketAddress,
    Text,
    WebAddress,
    refused,
)

__all__ = [
    "CHANNEL_GROUP",
    "RESERVED_NAMES",
    "ChannelPlugin",
    "ChannelSettings",
    "ChannelSurroundings",
    "Credential",
    "FilePath",
    "Identifier",
    "Identifiers",
    "PlatformId",
    "Secret",
    "SetupReport",
    "SocketAddress",
    "Text",
    "WebAddress",
    "refused",
]

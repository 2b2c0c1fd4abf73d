"""`[mcp.servers.<name>]`: tool servers that the agent may use."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from fermix.infrastructure.settings.section import FilePath, Secret, Section, Text, Texts


class McpServer(Section):
    """One server, started as a program that speaks over its standard input and output."""

    command: Text
    """The program."""
    args: Texts = ()
    """Its arguments."""
    env: Mapping[str, Secret] = Field(default_factory=dict)
    """Variables it gets besides the ordinary ones; treated as secrets."""
    cwd: FilePath | None = None
    """Folder it starts in; unset: the workspace."""
    enabled: bool = True
    """Whether it is started."""
    timeout_ms: Annotated[int, Field(ge=100, le=3_600_000)] = 30_000
    """How long one call may take."""


class McpSettings(Section):
    """All tool servers."""

    servers: Mapping[str, McpServer] = Field(default_factory=dict)

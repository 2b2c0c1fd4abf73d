"""`[fermix_core.telemetry]`: logs, traces, and where copies of traces go."""

from typing import Annotated, Literal

from pydantic import Field

from fermix.infrastructure.settings.section import Credential, Section, Text, WebAddress


class OpikSettings(Section):
    """Export of traces to an Opik server."""

    enabled: bool = False
    """Whether traces are exported. This version exports none."""
    base_url: WebAddress | None = None
    """Address of the server."""
    project: Text | None = None
    """Project that traces go to."""
    api_key: Credential | None = None
    """Key of the server."""
    workspace: Text | None = None
    """Workspace that traces go to."""


class TelemetrySettings(Section):
    """What is written down about the work."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important lines that the log keeps."""
    log_max_mb: Annotated[int, Field(ge=1, le=1000)] = 10
    """Size at which the log file is rotated."""
    log_files: Annotated[int, Field(ge=1, le=100)] = 5
    """Rotated log files that are kept."""
    trace_content: bool = False
    """Whether traces hold the texts of messages, prompts and tools. This version writes none either way."""
    trace_keep_days: Annotated[int, Field(ge=1, le=3650)] = 14
    """Days for which the traces of a day are kept after it."""
    opik: OpikSettings = OpikSettings()

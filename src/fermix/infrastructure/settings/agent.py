"""`[fermix_core.agent]` and `[fermix_core.personalization]`: who answers, how long, and whom."""

import zoneinfo
from typing import Annotated

from pydantic import AfterValidator, Field

from fermix.infrastructure.settings.section import Prose, Seconds, Section, Text, refused


def _known_zone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        # A machine without any zone data cannot tell a wrong name from a right one.
        if zoneinfo.available_timezones():
            raise refused("must be the name of a time zone such as Europe/Zurich") from None
    return name


class AgentSettings(Section):
    """The bounds of one turn and of all turns together."""

    name: Text = "fermix"
    """What the assistant calls itself."""
    turn_timeout_seconds: Seconds = 900
    """How long one turn may take, model and tools together."""
    max_concurrent_turns: Annotated[int, Field(ge=1, le=1000)] = 16
    """How many turns run at the same time, over all conversations."""
    max_iterations: Annotated[int, Field(ge=1, le=1000)] = 100
    """How many model calls one turn may make."""
    provider: Text | None = None
    """Old way to name the primary provider; counts only where no provider has `primary = true`."""


class PersonalizationSettings(Section):
    """What the assistant is told about its owner."""

    user_name: Text | None = None
    """What the assistant calls its owner."""
    timezone: Annotated[Text, AfterValidator(_known_zone)] | None = None
    """IANA time zone of dates in prompts and of schedules."""
    communication_style: Prose | None = None
    """How the assistant should write, in your words."""

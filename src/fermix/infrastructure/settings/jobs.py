"""`[fermix_core.jobs]`: scheduled work."""

from typing import Annotated, Literal

from pydantic import Field

from fermix.infrastructure.settings.section import Identifier, Section, Text


class DeliveryTarget(Section):
    """Where results of jobs go: a channel and one id on it."""

    platform: Text | None = None
    """The channel's name."""
    chat_id: Identifier | None = None
    """A chat."""
    channel_id: Identifier | None = None
    """A channel."""
    recipient: Identifier | None = None
    """A person."""
    target: Identifier | None = None
    """A target in the channel's own words."""
    reply_target: Identifier | None = None
    """What replies of that conversation go to."""


class JobsSettings(Section):
    """Defaults of scheduled jobs."""

    default_delivery_mode: Literal["none", "local", "origin", "channel"] | None = None
    """Where a job's result goes when the job does not say."""
    default_delivery_target: DeliveryTarget | None = None
    """The target of mode `channel`."""
    run_freshness_window_seconds: Annotated[int, Field(ge=0, le=30 * 24 * 3600)] = 3600
    """A recurring run that is later than this is skipped."""
    network_readiness_enabled: bool = True
    """Whether a run waits until the network is there."""

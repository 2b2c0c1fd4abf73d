"""`[fermix_core.queue]` and `[fermix_core.budget]`: how much may wait, how long it is kept, what may be spent."""

from typing import Annotated

from pydantic import Field

from fermix.infrastructure.settings.section import Count, Section


class QueueSettings(Section):
    """The durable queue."""

    max_waiting_per_conversation: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    """Messages that may wait in one conversation; beyond it the sender is told so."""
    max_waiting: Annotated[int, Field(ge=1, le=10_000_000)] = 2000
    """Messages that may wait in all."""
    drain_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 20
    """How long running turns may finish when the daemon is told to stop."""
    keep_sent_days: Annotated[int, Field(ge=0, le=3650)] = 7
    """Days for which sent replies, and the text of unknown and failed turns, are kept."""
    keep_keys_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days for which a message's key is kept, so that it is recognised when it is offered again."""


class BudgetSettings(Section):
    """Tokens that may be used; unset means no limit."""

    daily_tokens: Count | None = None
    """Tokens a day, over all conversations."""
    monthly_tokens: Count | None = None
    """Tokens a month, over all conversations."""
    guest_daily_tokens: Count | None = None
    """Tokens a day for all guests together."""

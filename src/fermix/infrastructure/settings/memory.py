"""`[fermix_core.memory]` and `[fermix_core.compaction]`: what is kept, and how long conversations stay small."""

from typing import Annotated

from pydantic import Field

from fermix.infrastructure.settings.providers import ReasoningEffort
from fermix.infrastructure.settings.section import Count, FilePath, Milliseconds, Section, Text


class MemorySettings(Section):
    """Long-term memory and the background review that fills it."""

    enabled: bool = True
    """Whether anything is remembered beyond a conversation."""
    review_interval_hours: Annotated[int, Field(ge=0, le=8760)] = 24
    """At most one review per conversation in this time; 0 turns reviews off."""
    review_max_messages: Count = 40
    """New messages one review looks at."""
    review_input_token_budget: Count = 4000
    """Tokens one review may read."""
    review_failure_backoff_ms: Milliseconds = 300_000
    """Wait after a failed review."""
    extraction_min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.75
    """What is less certain than this is not remembered."""
    prompt_user_token_cap: Count = 1500
    """Tokens of what is known about the owner in a prompt."""
    prompt_memory_token_cap: Count = 2000
    """Tokens of all other memory in a prompt."""
    database_path: FilePath | None = None
    """Another place for the memory database; relative to the home."""
    owner_id: Text = "default"
    """Owner under which memory is kept."""
    agent_id: Text = "main"
    """Agent under which memory is kept."""
    max_conversation_history: Count | None = None
    """Messages of a conversation held in memory; unset: no own limit."""
    loop_detection_window: Annotated[int, Field(ge=2, le=1000)] = 10
    """Tool calls looked back over for repetition."""
    loop_detection_warn: Annotated[int, Field(ge=2, le=1000)] = 3
    """Equal calls in a row after which the model is warned."""
    loop_detection_kill: Annotated[int, Field(ge=2, le=1000)] = 5
    """Equal calls in a row after which the turn ends."""


class CompactionSettings(Section):
    """Shortening a conversation that comes near the model's window."""

    enabled: bool = True
    """Whether it happens by itself; `/compact` works anyway."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Share of the context window at which it happens."""
    reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort of the summary."""

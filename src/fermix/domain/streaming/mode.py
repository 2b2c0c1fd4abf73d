"""Whether an answer is shown while it is written, and how: decided once, before the turn begins."""

from enum import StrEnum


class StreamingMode(StrEnum):
    """How an answer is shown while it is written."""

    OFF = "off"
    DRAFT = "draft"
    BLOCK = "block"


def decide_mode(wanted: StreamingMode, *, can_draft: bool, attended: bool) -> StreamingMode:
    """How a turn streams.

    Args:
        wanted: what the channel's owner set.
        can_draft: whether the channel can change a message that it has sent.
        attended: whether a person on that channel waits for the answer (no job, no sub-agent, no terminal, which
            shows its answers by itself).

    Returns:
        The mode; drafts on a channel that has none are no blocks instead: the reply comes as usual.
    """
    if not attended or (wanted is StreamingMode.DRAFT and not can_draft):
        return StreamingMode.OFF
    return wanted

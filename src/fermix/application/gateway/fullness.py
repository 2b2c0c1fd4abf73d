"""Whom it was said to that too much waits: once an episode, which ends when something is taken again."""

from fermix.domain import wording
from fermix.domain.lane import Placement

MAX_EPISODES = 10_000


class Fullness:
    """The conversations that were told, by the key of their route."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def over(self, conversation: str) -> None:
        """Something of this conversation was taken."""
        self._told.discard(conversation)

    def sentence(self, conversation: str, placement: Placement) -> str | None:
        """What to say to somebody whose message was not taken; `None` when they know it already."""
        if conversation in self._told:
            return None
        if len(self._told) >= MAX_EPISODES:
            self._told.clear()
        self._told.add(conversation)
        if placement is Placement.FULL_CONVERSATION:
            return wording.TOO_MUCH_WAITING_HERE
        return wording.TOO_MUCH_WAITING_IN_ALL

"""Groups that became supergroups: messages for the old id go to the new one."""

import logging

from fermix.infrastructure.channels.telegram.wire_in import Moved

MAX_MOVES = 1000

_log = logging.getLogger("fermix.telegram")


class Moves:
    """What is known of moves, for as long as this process lives; a refused message tells it again."""

    def __init__(self) -> None:
        self._new: dict[str, str] = {}

    def now(self, chat: str) -> str:
        """The id a chat has now."""
        return self._new.get(chat, chat)

    def remember(self, move: Moved) -> None:
        """Send to the new id from now on."""
        if len(self._new) >= MAX_MOVES:
            self._new.clear()
        if self._new.get(move.old) != move.new:
            _log.info("telegram.group_moved", extra={"old": move.old, "new": move.new})
        self._new[move.old] = move.new

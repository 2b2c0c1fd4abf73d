"""Groups that became supergroups: messages for the old id go to the new one."""

import logging

from telegram import Update

from fermix.infrastructure.channels.telegram.wire_in import Moved, read_move
from fermix.infrastructure.channels.telegram.wire_out import is_group

MAX_MOVES = 1000

_log = logging.getLogger("fermix.telegram")


def told_move(update: Update) -> Moved | None:
    """The move of a group that Telegram itself tells of, whoever may have caused it.

    It does so in a message that holds nothing else: in the group that is left, naming the supergroup, and in the
    supergroup, naming the group. What people write, forward or quote never gets here.
    """
    move, message = read_move(update), update.message
    if move is None or message is None or message.forward_origin is not None:
        return None
    if message.text is not None or message.caption is not None:
        return None
    kind = "group" if message.migrate_to_chat_id is not None else "supergroup"
    real = message.chat.type == kind and is_group(move.old) and is_group(move.new) and move.old != move.new
    return move if real else None


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

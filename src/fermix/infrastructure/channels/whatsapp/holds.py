"""Whom Meta asked to leave alone for a while: one chat, or everybody."""

from datetime import timedelta

_MOST = 10_000


class Holds:
    """Nothing waits here: what would come too early is told how long to wait, so that nobody waits behind it.

    All times are seconds of one clock that never goes back.
    """

    def __init__(self) -> None:
        self._all = 0.0
        self._chats: dict[str, float] = {}

    def hold(self, chat: str | None, *, until: float) -> None:
        """Leave a chat alone until then; `None`: every chat."""
        if chat is None:
            self._all = max(self._all, until)
            return
        if len(self._chats) >= _MOST:
            self._chats.clear()
        self._chats[chat] = until

    def wait_of(self, chat: str, *, now: float) -> timedelta | None:
        """How long a chat is still to be left alone; `None` when it is not."""
        left = max(self._all, self._chats.get(chat, 0.0)) - now
        if left > 0:
            return timedelta(seconds=left)
        self._chats.pop(chat, None)
        return None

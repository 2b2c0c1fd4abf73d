"""Chats that Slack asked to leave alone for a while."""

from datetime import timedelta

from fermix.application.ports.channel import ChannelRateLimited

_MOST = 10_000


class Holds:
    """Nothing waits here: what would come too early is told how long to wait, so that nobody waits behind it.

    All times are seconds of one clock that never goes back.
    """

    def __init__(self) -> None:
        self._chats: dict[str, float] = {}

    def hold(self, chat: str, wait: timedelta, *, now: float) -> None:
        """Leave a chat alone for so long."""
        if len(self._chats) >= _MOST:
            self._chats.clear()
        self._chats[chat] = now + wait.total_seconds()

    def must_be_over(self, chat: str, *, now: float) -> None:
        """Whether something may be sent to a chat.

        Raises:
            ChannelRateLimited: not yet.
        """
        left = self._chats.get(chat, now) - now
        if left > 0:
            raise ChannelRateLimited("Slack asked to wait", retry_after=timedelta(seconds=left))
        self._chats.pop(chat, None)

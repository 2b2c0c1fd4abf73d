"""Telegram's documented pace: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field

from fermix.testing.servers.telegram_api.refusal import too_many_requests

_ALL = (30, 1.0)
"""Messages in that many seconds over all chats."""
_PRIVATE = (3, 3.0)
"""One a second in one chat; short bursts are let through."""
_GROUP = (20, 60.0)


@dataclass(slots=True)
class Flood:
    """Counts messages and refuses those that come too fast."""

    times: defaultdict[int | None, deque[float]] = field(
        default_factory=lambda: defaultdict[int | None, deque[float]](deque)
    )

    def admit(self, chat: int, *, now: float) -> None:
        """Count one message to a chat.

        Raises:
            Refused: 429, with the whole seconds until the next one would be let through.
        """
        waits = [self._wait(None, _ALL, now), self._wait(chat, _GROUP if chat < 0 else _PRIVATE, now)]
        if max(waits) > 0:
            raise too_many_requests(max(1, math.ceil(max(waits))))
        for key in (None, chat):
            self.times[key].append(now)

    def _wait(self, key: int | None, pace: tuple[int, float], now: float) -> float:
        most, window = pace
        times = self.times[key]
        while times and now - times[0] >= window:
            times.popleft()
        return window - (now - times[0]) if len(times) >= most else 0.0

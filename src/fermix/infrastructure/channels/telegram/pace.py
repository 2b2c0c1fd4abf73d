"""How fast Telegram lets a bot write, and which chats it asked to leave alone for a while.

Nothing waits here: a message that would come too fast is told how long to wait, so that nobody waits behind it.
Source: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import TypeAlias

from fermix.infrastructure.channels.telegram.wire_out import is_group

MAX_CHATS = 10_000
"""Chats that are remembered before those that rest are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """At most so many messages in any so many seconds."""

    messages: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceLimits:
    """What is obeyed before the server has to say anything."""

    direct: Window
    group: Window
    all_chats: Window


TELEGRAM = PaceLimits(
    direct=Window(messages=3, seconds=3.0),
    group=Window(messages=20, seconds=60.0),
    all_chats=Window(messages=30, seconds=1.0),
)
"""One message a second in a chat with a short burst, 20 a minute in a group, 30 a second in all."""

_Times: TypeAlias = deque[float]


class Pace:
    """Counts what is sent. Without limits it only keeps to what the server asked for.

    All times are seconds of one clock that never goes back.
    """

    def __init__(self, limits: PaceLimits | None) -> None:
        self._limits = limits
        self._all: _Times = deque()
        self._chats: dict[str, _Times] = {}
        self._held: dict[str, float] = {}

    def take(self, chat: str, *, now: float) -> float:
        """Take a place for one message.

        Returns:
            0 when it may leave now and is counted, else the seconds until it may be tried again.
        """
        if (held := self._held.get(chat)) is not None:
            if now < held:
                return held - now
            del self._held[chat]
        if self._limits is None:
            return 0.0
        times = self._chats.get(chat)
        if times is None:
            times = self._remember(chat, now)
        wait = max(
            _wait(times, self._limits.group if is_group(chat) else self._limits.direct, now),
            _wait(self._all, self._limits.all_chats, now),
        )
        if wait > 0:
            return wait
        times.append(now)
        self._all.append(now)
        return 0.0

    def take_spare(self, chat: str, *, now: float) -> float:
        """As `take`, for what may just as well come later: enough places are left for messages.

        In a group that is half of them; in a direct chat a draft is all that is written meanwhile.
        """
        if self._limits is None or chat in self._held:
            return self.take(chat, now=now)
        here = _half(self._limits.group) if is_group(chat) else self._limits.direct
        wait = max(
            _wait(self._chats.get(chat, deque()), here, now),
            _wait(self._all, _half(self._limits.all_chats), now),
        )
        return wait if wait > 0 else self.take(chat, now=now)

    def note(self, chat: str, *, now: float) -> None:
        """Count something that leaves now whatever the limits say."""
        if self._limits is not None:
            times = self._chats.get(chat)
            (self._remember(chat, now) if times is None else times).append(now)
            self._all.append(now)

    def hold(self, chat: str, *, until: float) -> None:
        """The server asked to leave a chat alone until then."""
        if len(self._held) >= MAX_CHATS:
            self._held.clear()
        self._held[chat] = until

    def _remember(self, chat: str, now: float) -> _Times:
        if len(self._chats) >= MAX_CHATS:
            longest = 0.0 if self._limits is None else self._limits.group.seconds
            self._chats = {
                name: times for name, times in self._chats.items() if times and now - times[-1] < longest
            }
        times = self._chats[chat] = deque()
        return times


def _half(window: Window) -> Window:
    return replace(window, messages=window.messages // 2)


def _wait(times: _Times, window: Window, now: float) -> float:
    while times and now - times[0] >= window.seconds:
        times.popleft()
    return window.seconds - (now - times[0]) if len(times) >= window.messages else 0.0

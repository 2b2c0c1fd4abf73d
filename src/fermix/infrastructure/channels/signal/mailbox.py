"""Received messages between signal-cli, which acknowledges them by itself, and whoever commits them."""

from collections import deque
from collections.abc import Awaitable, Callable

import anyio

MAX_HELD = 100
"""Messages kept while nobody takes any; then no further line is read."""

HEARD = object()
"""Handed over like a message: signal-cli listens, whether anybody writes or not."""


class Mailbox:
    """Keeps the order. While somebody takes, the next line is read only when the last message was taken.

    While nobody does, answers that come on the same line must still be read, so that a few messages are held.
    """

    def __init__(self) -> None:
        self._held: deque[object] = deque()
        self._taken = 0
        self._put = 0
        self._is_open = False
        self._changed = anyio.Event()

    @property
    def held(self) -> int:
        """How many messages were handed over and not taken yet."""
        return sum(each is not HEARD for each in self._held)

    async def put(self, notice: object) -> None:
        """Hand over one message; returns when the next line may be read."""
        self._held.append(notice)
        self._put += 1
        mine = self._put
        self._change()
        while self._taken < mine and (self._is_open or len(self._held) > MAX_HELD):
            await self._changed.wait()

    async def take_all(self, take: Callable[[object], Awaitable[None]]) -> None:
        """Take what is held, and what comes, until cancelled; what was cut off in the middle is held again."""
        self._is_open = True
        try:
            while True:
                while not self._held:
                    await self._changed.wait()
                await take(self._held[0])
                self._held.popleft()
                self._taken += 1
                self._change()
        finally:
            self._is_open = False
            self._change()

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

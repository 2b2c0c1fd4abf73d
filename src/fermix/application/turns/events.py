"""The one place turn events are published to and read from."""

from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import anyio

from fermix.domain.events import Gap, Numbered, TurnCompleted, TurnEvent
from fermix.domain.ids import TurnId

MAX_EVENTS = 2048
"""Events kept of one turn; a reader further behind gets a gap."""

MAX_FINISHED = 64
"""Finished turns whose events can still be read (a reader may come late)."""


@dataclass(slots=True)
class _Log:
    events: deque[Numbered] = field(default_factory=lambda: deque[Numbered](maxlen=MAX_EVENTS))
    count: int = 0
    finished: bool = False
    news: anyio.Event = field(default_factory=anyio.Event)


class TurnEvents:
    """Numbers, keeps and hands out the events of turns. Publishing never waits for a reader."""

    def __init__(self) -> None:
        self._running: dict[TurnId, _Log] = {}
        self._finished: OrderedDict[TurnId, _Log] = OrderedDict()

    def publish(self, turn: TurnId, event: TurnEvent) -> None:
        """Add an event; `TurnCompleted` ends the turn's log, and nothing can follow it."""
        if turn in self._finished:
            return
        log = self._running.setdefault(turn, _Log())
        log.count += 1
        log.events.append(Numbered(number=log.count, event=event))
        if isinstance(event, TurnCompleted):
            log.finished = True
            self._finished[turn] = self._running.pop(turn)
            while len(self._finished) > MAX_FINISHED:
                self._finished.popitem(last=False)
        news, log.news = log.news, anyio.Event()
        news.set()

    async def watch(self, turn: TurnId) -> AsyncGenerator[Numbered]:
        """All events of a turn from its first on, ending after `TurnCompleted`.

        May be called before the turn starts. A reader that falls more than `MAX_EVENTS` behind gets a `Gap`
        in place of what is gone.
        """
        position = 1
        while True:
            log = self._finished.get(turn) or self._running.setdefault(turn, _Log())
            first = log.count - len(log.events) + 1
            if position < first:
                yield Numbered(number=position, event=Gap(missed=first - position))
                position = first
            elif position <= log.count:
                event = log.events[position - first]
                position += 1
                yield event
            elif log.finished:
                return
            else:
                await log.news.wait()

    def forget(self, turn: TurnId) -> None:
        """Drop a log that nothing was published to (its turn was never run here)."""
        log = self._running.get(turn)
        if log is not None and log.count == 0:
            del self._running[turn]

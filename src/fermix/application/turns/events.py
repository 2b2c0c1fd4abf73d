"""The one place turn events are published to and read from."""

from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import anyio

from fermix.domain.events import Gap, Numbered, TextDelta, ThoughtTold, TurnCompleted, TurnEvent
from fermix.domain.ids import TurnId

MAX_EVENTS = 2048
"""Events kept of one turn; a reader further behind gets a gap."""

MAX_CHARACTERS = 1_000_000
"""Characters of text as it is written, kept of one turn; its end holds the whole text in any case."""

MAX_FINISHED = 64
"""Finished turns whose events can still be read (a reader may come late)."""


@dataclass(slots=True)
class _Log:
    events: deque[Numbered] = field(default_factory=deque[Numbered])
    count: int = 0
    characters: int = 0
    finished: bool = False
    news: anyio.Event = field(default_factory=anyio.Event)

    def add(self, event: TurnEvent) -> None:
        self.count += 1
        self.characters += _written(event)
        self.events.append(Numbered(number=self.count, event=event))
        while len(self.events) > MAX_EVENTS or (self.characters > MAX_CHARACTERS and len(self.events) > 1):
            self.characters -= _written(self.events.popleft().event)


def _written(event: TurnEvent) -> int:
    return len(event.text) if isinstance(event, TextDelta | ThoughtTold) else 0


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
        log.add(event)
        if isinstance(event, TurnCompleted):
            log.finished = True
            self._finished[turn] = self._running.pop(turn)
            while len(self._finished) > MAX_FINISHED:
                self._finished.popitem(last=False)
        news, log.news = log.news, anyio.Event()
        news.set()

    def watch(self, turn: TurnId) -> AsyncGenerator[Numbered]:
        """All events of a turn from its first on, ending after `TurnCompleted`.

        May be called before the turn starts. Whoever has called it misses nothing, however late they read and
        however many other turns end meanwhile; only a reader that falls more than `MAX_EVENTS` or
        `MAX_CHARACTERS` behind gets a `Gap` in place of what is gone.
        """
        return _read(self._finished.get(turn) or self._running.setdefault(turn, _Log()))

    def unstarted(self) -> tuple[TurnId, ...]:
        """Turns that somebody watches and of which there is nothing to tell yet."""
        return tuple(turn for turn, log in self._running.items() if log.count == 0)


async def _read(log: _Log) -> AsyncGenerator[Numbered]:
    position = 1
    while True:
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

"""Showing an answer while it is written, beside the work on it."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Protocol

import anyio

from fermix.application.agent.journal import Journal
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.delivery.sealing import Sealing
from fermix.application.ports.channel import Channel, ChannelFeatures, Drafts, drafts_of
from fermix.application.ports.clock import Clock
from fermix.application.ports.turns import ClaimedTurn
from fermix.application.turns.events import TurnEvents
from fermix.application.turns.live_blocks import LiveBlocks
from fermix.application.turns.live_draft import CALL_SECONDS, LiveDraft
from fermix.application.turns.phases import StreamObserver, nobody_measures
from fermix.application.turns.settle import Ending, room_for_text
from fermix.application.wakeup import Wakeup
from fermix.domain.authorization import LOCAL_CHANNELS
from fermix.domain.ids import ChannelName, TurnId
from fermix.domain.streaming.block import BlockLimits, BlockMachine
from fermix.domain.streaming.draft import DraftLimits, DraftMachine
from fermix.domain.streaming.heard import Heard, heard
from fermix.domain.streaming.mode import StreamingMode, decide_mode

_log = logging.getLogger("fermix.streaming")

EndStream = Callable[[Ending], Awaitable[Ending]]
"""Called once with how the turn ended, right before that is committed; gives back what is to be committed."""


class Live(Protocol):
    """What people see of one turn before it is settled. One task hears, one acts, the turn's own ends it."""

    def hear(self, event: Heard) -> None:
        """Take in what happened to the text."""
        ...

    def due(self, now: datetime) -> datetime | None:
        """When to act next; `None` until more is heard."""
        ...

    async def act(self) -> None:
        """Do what is due, if anything is."""
        ...

    async def end(self, ending: Ending) -> Ending:
        """Act no more; what is shown becomes part of the ending where it can."""
        ...

    def hurry(self) -> None:
        """Act no more, and bring what is under way to its end soon."""
        ...

    async def leave(self, *, settled: bool) -> None:
        """Clear up; `settled` says whether the ending was committed."""
        ...


class StreamReplies:
    """Shows the answers of turns on the channels whose owners want that.

    Whether and how a turn streams is decided once, at its start.
    """

    def __init__(
        self,
        *,
        channels: Mapping[ChannelName, Channel],
        modes: Mapping[ChannelName, StreamingMode],
        events: TurnEvents,
        deliverer: Deliverer,
        observe: StreamObserver = nobody_measures,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._call_seconds = call_seconds
        self._drafts = drafts_of(channels)
        self._features = {name: channel.features for name, channel in channels.items()}
        self._sealing = Sealing(self._drafts)
        self._modes = modes
        self._events = events
        self._deliverer = deliverer
        self._observe = observe

    async def during(self, journal: Journal, work: Callable[[EndStream], Awaitable[None]]) -> None:
        """Run a turn, and show its text as it comes.

        The work never waits for the platform but at its end, for a write that is under way; what goes wrong
        with streaming is only logged. However the work ends, nothing is shown any more afterwards.

        Raises:
            Exception: what the work raises, as it is.
        """
        live = self._live(journal)
        if live is None:
            await work(_as_it_is)
            return
        settled = False
        try:
            await self._beside(journal, live, work)
            settled = True
        finally:
            with anyio.CancelScope(shield=True):
                await live.leave(settled=settled)

    async def _beside(
        self, journal: Journal, live: Live, work: Callable[[EndStream], Awaitable[None]]
    ) -> None:
        wakeup = Wakeup(journal.clock)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_guarded, lambda: self._listen(journal.claim.turn, live, wakeup))
                tasks.start_soon(_guarded, lambda: _act(journal.clock, live, wakeup))
                try:
                    return await work(live.end)
                finally:
                    live.hurry()
                    tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            # The other tasks raise nothing, so the one error in the group is the work's own.
            failure = group.exceptions[0]
        raise failure

    def tells_thoughts(self, claim: ClaimedTurn) -> bool:
        """Whether what the model thinks is shown in the chat: only blocks have a place for it."""
        return self._mode(claim) is StreamingMode.BLOCK

    def _mode(self, claim: ClaimedTurn) -> StreamingMode:
        channel = claim.messages[-1].target.channel
        return decide_mode(
            self._modes.get(channel, StreamingMode.OFF),
            can_draft=channel in self._drafts,
            attended=_is_attended(claim),
        )

    def _live(self, journal: Journal) -> Live | None:
        claim = journal.claim
        channel = claim.messages[-1].target.channel
        drafts, mode = self._drafts.get(channel), self._mode(claim)
        features = self._features[channel]
        if drafts is not None and (mode is StreamingMode.DRAFT or claim.drafts):
            return self._draft(journal, drafts, features, still=mode is not StreamingMode.DRAFT)
        return self._blocks(journal, features) if mode is StreamingMode.BLOCK else None

    def _draft(
        self, journal: Journal, drafts: Drafts, features: ChannelFeatures, *, still: bool
    ) -> LiveDraft:
        machine = DraftMachine(
            limits=DraftLimits(text=room_for_text(features), unit=features.text_unit),
            adopted=journal.claim.drafts[-1] if journal.claim.drafts else None,
            still=still,
        )
        return LiveDraft(
            machine=machine,
            drafts=drafts,
            sealing=self._sealing,
            journal=journal,
            observe=self._observe,
            call_seconds=self._call_seconds,
        )

    def _blocks(self, journal: Journal, features: ChannelFeatures) -> LiveBlocks:
        limits = BlockLimits(text=room_for_text(features), unit=features.text_unit)
        return LiveBlocks(
            machine=BlockMachine(limits=limits),
            deliverer=self._deliverer,
            journal=journal,
            observe=self._observe,
        )

    async def _listen(self, turn: TurnId, live: Live, wakeup: Wakeup) -> None:
        async with aclosing(self._events.watch(turn)) as events:
            async for numbered in events:
                event = heard(numbered.event)
                if event is not None:
                    live.hear(event)
                    wakeup.wake()


async def _act(clock: Clock, live: Live, wakeup: Wakeup) -> None:
    while True:
        await wakeup.wait(live.due(clock.now()))
        await live.act()


async def _guarded(run: Callable[[], Awaitable[None]]) -> None:
    try:
        await run()
    except Exception:  # noqa: BLE001  # a mistake in a courtesy must not cost the answer
        _log.exception("streaming.crashed")


async def _as_it_is(ending: Ending) -> Ending:
    return ending


def _is_attended(claim: ClaimedTurn) -> bool:
    """Whether a person on a messenger waits for it; terminals show their answers by themselves.

    Nobody watches work that a turn has handed on.
    """
    on_a_messenger = claim.messages[-1].target.channel not in LOCAL_CHANNELS
    return on_a_messenger and not claim.awaited and not claim.scope.delegated

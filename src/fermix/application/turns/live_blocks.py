"""One turn's text in several messages: commits the blocks that the block machine hands out, one after another."""

import logging
from dataclasses import replace
from datetime import datetime, timedelta

import anyio

from fermix.application.agent.journal import Journal
from fermix.application.delivery.deliverer import Deliverer
from fermix.application.ports.ledger_errors import LedgerError
from fermix.application.turns.phases import Streamed, StreamObserver, StreamPhase
from fermix.application.turns.settle import Ending
from fermix.domain.delivery import TextPart
from fermix.domain.streaming.block import BlockMachine
from fermix.domain.streaming.heard import Heard
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.streaming")


class LiveBlocks:
    """See `Live`. Blocks are parts like any other: committed first, then sent in order and tried again.

    A turn that has sent one is not run again after a death, since nobody could take its words back.
    """

    def __init__(
        self, *, machine: BlockMachine, deliverer: Deliverer, journal: Journal, observe: StreamObserver
    ) -> None:
        self._machine = machine
        self._deliverer = deliverer
        self._journal = journal
        self._observe = observe
        self._clock = journal.clock
        self._target = journal.claim.messages[-1].target
        self._closing = False
        self._idle = anyio.Event()
        self._idle.set()

    def hear(self, event: Heard) -> None:
        """See `Live.hear`."""
        self._machine.hear(event, self._clock.now())

    def due(self, now: datetime) -> datetime | None:
        """See `Live.due`."""
        return None if self._closing else self._machine.due(now)

    async def act(self) -> None:
        """See `Live.act`. A commit that was begun is seen through, so that what is committed is also sent."""
        block = None if self._closing else self._machine.next_block(self._clock.now())
        if block is None:
            return
        self._idle = anyio.Event()
        began = self._clock.monotonic()
        try:
            with anyio.CancelScope(shield=True):
                part = await self._journal.say(TextPart(text=block.text), self._target)
        except LedgerError as exc:
            # The turn itself meets it too, and is the one to say so.
            _log.debug("streaming.block_not_committed", extra={"cause": type(exc).__name__})
            self._machine.failed(block)
            self._tell(began, succeeded=False)
            return
        finally:
            self._idle.set()
        self._machine.committed()
        self._tell(began, succeeded=True)
        self._deliverer.submit_early(self._journal.claim.turn, part)

    def hurry(self) -> None:
        """See `Live.hurry`; a commit takes no longer than any."""
        self._closing = True

    async def end(self, ending: Ending) -> Ending:
        """See `Live.end`. What was sent already is left out of the reply, but not of the history."""
        self._closing = True
        await self._idle.wait()
        if ending.outcome is not Outcome.COMPLETED:
            return ending
        unsent = self._machine.end(ending.text)
        return replace(ending, blocks=unsent.blocks, rest=unsent.text)

    async def leave(self, *, settled: bool) -> None:
        """See `Live.leave`. Blocks stay where they are."""

    def _tell(self, began: float, *, succeeded: bool) -> None:
        self._observe(
            Streamed(
                phase=StreamPhase.BLOCK,
                turn=self._journal.claim.turn,
                channel=self._target.channel,
                succeeded=succeeded,
                took=timedelta(seconds=self._clock.monotonic() - began),
                index=self._machine.sent,
            )
        )

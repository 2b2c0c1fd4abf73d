"""Ending a turn: one commit for outcome, history and reply, then the reply goes out."""

import logging
from dataclasses import dataclass

from fermix.application.delivery.deliverer import Deliverer
from fermix.application.patience import until_stored
from fermix.application.ports.clock import Clock
from fermix.application.ports.turns import ClaimedTurn, Settlement, Turns
from fermix.application.turns.events import TurnEvents
from fermix.domain.delivery import Part, TextPart
from fermix.domain.events import TurnCompleted, TurnSettled
from fermix.domain.failure import Failure
from fermix.domain.history import HistoryEntry
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a turn ended, before it is committed.

    Attributes:
        text: what its asker reads; empty for a silent ending.
        entries: what it adds to the history.
        keep_bodies: keep its messages, so that it can be run again.
    """

    outcome: Outcome
    text: str = ""
    entries: tuple[HistoryEntry, ...] = ()
    failure: Failure | None = None
    keep_bodies: bool = False


class SettleTurn:
    """Commits an ending, hands the reply to delivery and tells the watchers, in this order."""

    def __init__(self, *, turns: Turns, deliverer: Deliverer, events: TurnEvents, clock: Clock) -> None:
        self._turns = turns
        self._deliverer = deliverer
        self._clock = clock
        self.events = events

    async def __call__(self, claim: ClaimedTurn, ending: Ending) -> None:
        """End a turn.

        An answer that exists is held until the ledger can take it down (a full disk may have space later);
        cancelling gives it up, and the next start runs the turn again.

        Raises:
            StaleTurn: it was stopped meanwhile; nothing is committed and nothing is sent.
            LedgerError: the ledger is broken or the home is lost.
        """
        parts: tuple[Part, ...] = (TextPart(text=ending.text),) if ending.text.strip() else ()
        settlement = Settlement(
            turn=claim.turn,
            generation=claim.generation,
            outcome=ending.outcome,
            target=claim.messages[-1].target,
            entries=ending.entries,
            parts=parts,
            keep_bodies=ending.keep_bodies,
        )
        to_send = await until_stored(self._clock, "settlement", lambda: self._turns.settle(settlement))
        _log.info("turn.settled", extra={"turn": claim.turn, "outcome": ending.outcome.value})
        self.events.publish(
            claim.turn, TurnSettled(outcome=ending.outcome, text=ending.text, failure=ending.failure)
        )
        self._deliverer.expect(
            claim.turn,
            len(parts),
            lambda turn: self.events.publish(turn, TurnCompleted(outcome=ending.outcome)),
        )
        self._deliverer.submit(to_send)

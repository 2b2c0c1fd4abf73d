"""Ending a turn: one commit for outcome, history and reply, then the reply goes out."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fermix.application.delivery.deliverer import Deliverer
from fermix.application.patience import Waits, nobody_waits, until_stored
from fermix.application.ports.channel import ChannelFeatures
from fermix.application.ports.clock import Clock
from fermix.application.ports.turns import ClaimedTurn, Settlement, Turns
from fermix.application.turns.events import TurnEvents
from fermix.domain.delivery import ROOM_FOR_MARK, Part, TextPart
from fermix.domain.events import TurnCompleted, TurnSettled
from fermix.domain.failure import Failure
from fermix.domain.history import HistoryEntry
from fermix.domain.ids import ChannelName, PlatformMessageId
from fermix.domain.splitting import is_blank, split
from fermix.domain.turn import Outcome

_log = logging.getLogger("fermix.turn")

_NO_LIMITS: Mapping[ChannelName, ChannelFeatures] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a turn ended, before it is committed.

    Attributes:
        text: what its asker reads; empty for a silent ending.
        entries: what it adds to the history.
        keep_bodies: keep its messages, so that it can be run again.
        draft: a message that shows some of the text already, and that its first part takes the place of.
        blocks: what the model said before its answer and what was not sent yet; each is a part of its own.
        rest: what of the text was not sent while it was written; `None` when all of it is to be sent.
    """

    outcome: Outcome
    text: str = ""
    entries: tuple[HistoryEntry, ...] = ()
    failure: Failure | None = None
    keep_bodies: bool = False
    draft: PlatformMessageId | None = None
    blocks: tuple[str, ...] = ()
    rest: str | None = None


class SettleTurn:
    """Commits an ending, hands the reply to delivery and tells the watchers, in this order.

    A reply that is longer than its channel carries in one part is committed as several.
    """

    def __init__(
        self,
        *,
        turns: Turns,
        deliverer: Deliverer,
        events: TurnEvents,
        clock: Clock,
        features: Mapping[ChannelName, ChannelFeatures] = _NO_LIMITS,
        waits: Waits = nobody_waits,
    ) -> None:
        self._features = features
        self._turns = turns
        self._deliverer = deliverer
        self._clock = clock
        self._waits = waits
        self.events = events

    async def __call__(self, claim: ClaimedTurn, ending: Ending) -> None:
        """End a turn.

        An answer that exists is held until the ledger can take it down (a full disk may have space later);
        cancelling gives it up, and the next start runs the turn again.

        Raises:
            StaleTurn: it was stopped meanwhile; nothing is committed and nothing is sent.
            LedgerError: the ledger is broken or the home is lost.
        """
        target = claim.messages[-1].target
        parts = _parts(ending, self._features.get(target.channel))
        settlement = Settlement(
            turn=claim.turn,
            generation=claim.generation,
            outcome=ending.outcome,
            target=target,
            entries=ending.entries,
            parts=parts,
            keep_bodies=ending.keep_bodies,
        )
        to_send = await until_stored(
            self._clock, "settlement", lambda: self._turns.settle(settlement), waits=self._waits
        )
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


def room_for_text(features: ChannelFeatures) -> int | None:
    """How much text one part of a reply holds, leaving room for the mark of a repeat; `None`: any."""
    return None if features.max_text is None else features.max_text - ROOM_FOR_MARK


def _parts(ending: Ending, features: ChannelFeatures | None) -> tuple[Part, ...]:
    """A reply as its channel can carry it; the first part takes the draft's place."""
    said = tuple(TextPart(text=block) for block in ending.blocks)
    text = ending.text if ending.rest is None else ending.rest
    if is_blank(text):
        return said
    limit = None if features is None else room_for_text(features)
    if features is None or limit is None:
        return (*said, TextPart(text=text, draft=ending.draft))
    first, *others = split(text, limit=limit, unit=features.text_unit)
    return (*said, TextPart(text=first, draft=ending.draft), *(TextPart(text=piece) for piece in others))

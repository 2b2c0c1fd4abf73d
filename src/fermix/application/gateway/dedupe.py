"""Twins of one webhook delivery, while the first is still being admitted and for a day after.

Memory alone never acknowledges: a twin waits for what became of the first, and behind this stands the ledger's
unique key for every channel.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio

from fermix.application.ports.channel import Verdict
from fermix.application.ports.clock import Clock
from fermix.domain.message import InboundMessage

KEEP = timedelta(hours=24)
MAX_KEYS = 100_000


@dataclass(slots=True)
class Delivery:
    """One delivery being admitted, or admitted; `verdict` is `None` until it is known."""

    seen_at: datetime
    verdict: Verdict | None = None
    decided: anyio.Event = field(default_factory=anyio.Event)

    async def result(self) -> Verdict:
        """What became of the first delivery; waits until it is known."""
        await self.decided.wait()
        return self.verdict if self.verdict is not None else Verdict.UNAVAILABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The answer of a check: the delivery, and whether the caller is the one to admit it."""

    delivery: Delivery
    first: bool


def delivery_key(message: InboundMessage) -> str:
    """What twins share: an edit has the key of what it edits, and is no twin of that nor of an earlier edit."""
    edited = message.edited_at
    return message.key if edited is None else f"{message.key} edited {edited.isoformat()}"


class WebhookMemory:
    """Check-and-set per (origin, key), without an await in between, so that one caller alone is first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._deliveries: OrderedDict[tuple[str, str], Delivery] = OrderedDict()

    def check(self, origin: str, key: str) -> Seen:
        """Look a delivery up, and note it when it is new."""
        now = self._clock.now()
        self._sweep(now)
        known = self._deliveries.get((origin, key))
        if known is not None:
            return Seen(delivery=known, first=False)
        delivery = Delivery(seen_at=now)
        self._deliveries[origin, key] = delivery
        return Seen(delivery=delivery, first=True)

    def decide(self, origin: str, key: str, verdict: Verdict) -> None:
        """Say what became of a first delivery; what was not taken is forgotten, so that a retry can succeed."""
        taken = verdict not in {Verdict.UNAVAILABLE, Verdict.FULL}
        delivery = self._deliveries.get((origin, key)) if taken else self._deliveries.pop((origin, key), None)
        if delivery is not None and delivery.verdict is None:
            delivery.verdict = verdict
            delivery.decided.set()

    def _sweep(self, now: datetime) -> None:
        while self._deliveries:
            key, oldest = next(iter(self._deliveries.items()))
            if len(self._deliveries) < MAX_KEYS and now - oldest.seen_at < KEEP:
                return
            del self._deliveries[key]
            if oldest.verdict is None:
                oldest.decided.set()

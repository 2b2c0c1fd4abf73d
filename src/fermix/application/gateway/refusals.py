"""Senders turned away lately: in the log for operators, in memory for the owner who looks for a missing id."""

import logging
from collections import deque

from fermix.application.gateway.stages import Candidate
from fermix.application.ports.clock import Clock
from fermix.application.ports.control import RefusedSender
from fermix.domain.authorization import Denial

_log = logging.getLogger("fermix.gateway")

MAX_REFUSED = 50


class Refusals:
    """A ring of the last ones; nothing of them is ever stored."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lately: deque[RefusedSender] = deque(maxlen=MAX_REFUSED)

    def lately(self) -> tuple[RefusedSender, ...]:
        """Senders turned away, oldest first."""
        return tuple(self._lately)

    def note(self, candidate: Candidate, denial: Denial) -> None:
        """Warn of one, with every text of theirs in quotes."""
        message = candidate.known
        ids = tuple(message.sender.ids())
        _log.warning(
            "gateway.sender_refused",
            extra={
                "channel": message.channel,
                "sender_ids": ", ".join(repr(i) for i in ids),
                "sender": repr(message.sender.name[:80]),
                "chat": repr(message.chat.id),
                "result": denial.kind.value,
                "reason": denial.reason,
            },
        )
        self._lately.append(
            RefusedSender(at=self._clock.now(), channel=message.channel, sender_ids=ids, reason=denial.reason)
        )

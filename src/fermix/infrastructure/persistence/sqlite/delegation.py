"""Handing work on: the parent's claim is checked and its scope narrowed in the commit that writes the work."""

from fermix.application.ports.admissions import AdmitResult, Input
from fermix.domain.lane import QueueLimits
from fermix.domain.sub_work import SubWork
from fermix.domain.trust import Trust
from fermix.infrastructure.persistence.sqlite.admissions import admit_one
from fermix.infrastructure.persistence.sqlite.rows import messages_of
from fermix.infrastructure.persistence.sqlite.transaction import Transaction
from fermix.infrastructure.persistence.sqlite.turns import claimed_turn
from fermix.infrastructure.persistence.sqlite.writer import Writer


class SqliteDelegation:
    """The `Delegation` port over the writer."""

    def __init__(self, *, writer: Writer, limits: QueueLimits) -> None:
        self._writer = writer
        self._limits = limits

    async def hand_on(self, work: SubWork) -> AdmitResult:
        """See `Delegation.hand_on`."""
        return await self._writer.do(lambda tx: _hand_on(tx, work, self._limits), durable=True)


def _hand_on(tx: Transaction, work: SubWork, limits: QueueLimits) -> AdmitResult:
    parent = claimed_turn(tx, work.turn, work.generation)
    asked = messages_of(tx, parent.turn)[-1]
    if asked.message is None:
        raise LookupError(f"turn {parent.turn} has no payload although it runs")
    scope = work.seen_from(parent.scope)
    item = Input(
        message=work.asked_like(asked.message),
        route=work.route_from(asked.message),
        target=asked.target,
        trust=scope.trust or Trust.GUEST,
        scope=scope,
    )
    return admit_one(tx, item, limits)

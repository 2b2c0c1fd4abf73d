"""The in-memory ledger's way for a running turn to hand work on."""

from fermix.application.ports.admissions import AdmitResult, Input
from fermix.application.ports.ledger_errors import LedgerError
from fermix.domain.lane import QueueLimits
from fermix.domain.sub_work import SubWork
from fermix.domain.trust import Trust
from fermix.testing.memory.admissions import admit_one
from fermix.testing.memory.process import Process, Transaction
from fermix.testing.memory.turns import claimed_turn


class MemoryDelegation:
    """The `Delegation` port."""

    def __init__(self, *, process: Process, limits: QueueLimits) -> None:
        self._process = process
        self._limits = limits

    async def hand_on(self, work: SubWork) -> AdmitResult:
        """See `Delegation.hand_on`."""
        return await self._process.write(lambda tx: _hand_on(tx, work, self._limits), durable=True)


def _hand_on(tx: Transaction, work: SubWork, limits: QueueLimits) -> AdmitResult:
    parent = claimed_turn(tx, work.turn, work.generation)
    asked = tx.tables.read_in_order(parent.turn)[-1]
    if asked.body is None or asked.target is None:
        raise LedgerError(f"message {asked.row} has no payload although its turn runs")
    scope = work.seen_from(parent.scope)
    item = Input(
        message=work.asked_like(asked.body),
        route=work.route_from(asked.body),
        target=asked.target,
        trust=scope.trust or Trust.GUEST,
        scope=scope,
    )
    return admit_one(tx, item, limits)

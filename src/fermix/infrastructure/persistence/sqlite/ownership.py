"""Who owns the home: taking it, putting right what the last owner left, sweeping, leaving (T8, T9, T11)."""

from collections.abc import Collection

from fermix.application.ports.ledger_errors import StaleTurn
from fermix.application.ports.ownership import PausedTurn, Recovered, Retention, Takeover
from fermix.domain.ids import ChannelName, Epoch
from fermix.domain.turn import TurnState
from fermix.infrastructure.persistence.sqlite import resolving, sweeping
from fermix.infrastructure.persistence.sqlite.recovery import recover_channels
from fermix.infrastructure.persistence.sqlite.rows import turn_row
from fermix.infrastructure.persistence.sqlite.transaction import Transaction
from fermix.infrastructure.persistence.sqlite.writer import Writer


class SqliteOwnership:
    """The `Ownership` port over the writer."""

    def __init__(self, *, writer: Writer) -> None:
        self._writer = writer

    async def take(self, *, instance: str, boot: str) -> Takeover:
        """See `Ownership.take`."""
        return await self._writer.take_over(lambda tx: _take(tx, instance=instance, boot=boot))

    async def recover(self, *, channels: Collection[ChannelName]) -> Recovered:
        """See `Ownership.recover`."""
        served = frozenset(channels)
        return await self._writer.do(lambda tx: recover_channels(tx, served), durable=True)

    async def discard(self, paused: PausedTurn) -> None:
        """See `Ownership.discard`."""
        await self._writer.do(lambda tx: _discard(tx, paused), durable=True)

    async def sweep(self, retention: Retention, *, limit: int = 500) -> int:
        """See `Ownership.sweep`. Not synced: what a power cut brings back is swept again."""
        return await self._writer.do(lambda tx: sweeping.sweep(tx, retention, limit=limit), durable=False)

    async def leave(self) -> None:
        """See `Ownership.leave`. Synced, so that everything before it is on disk too."""
        await self._writer.do(lambda tx: tx.run("UPDATE runtime SET clean=1"), durable=True)


def _take(tx: Transaction, *, instance: str, boot: str) -> Takeover:
    last = tx.row("SELECT epoch, boot, clean FROM runtime")
    epoch = Epoch(1 if last is None else last[0] + 1)
    tx.run(
        "INSERT INTO runtime(one, epoch, instance, boot, clean) VALUES(1,?,?,?,0) ON CONFLICT DO UPDATE"
        " SET epoch=excluded.epoch, instance=excluded.instance, boot=excluded.boot, clean=0",
        epoch,
        instance,
        boot,
    )
    tx.epoch = epoch
    tx.waiting.recount(tx)
    return Takeover(
        epoch=epoch,
        first=last is None,
        clean=last is None or bool(last[2]),
        rebooted=last is not None and last[1] != boot,
    )


def _discard(tx: Transaction, paused: PausedTurn) -> None:
    turn = turn_row(tx, paused.turn)
    if turn is None or turn.state is not TurnState.UNKNOWN or turn.generation != paused.generation:
        raise StaleTurn(f"turn {paused.turn} does not wait for its owner any more")
    resolving.discard(tx, turn)

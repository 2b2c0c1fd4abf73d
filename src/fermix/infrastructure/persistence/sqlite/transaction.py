"""What a transaction's body may use: statements, the time, the epoch, and the count of what waits."""

from typing import Any, TypeAlias

import apsw

from fermix.application.ports.clock import Ids
from fermix.domain.ids import Epoch, LaneId

Row: TypeAlias = tuple[Any, ...]
Value: TypeAlias = int | float | bytes | str | None


class SyncNeeded(Exception):
    """A call that began without sync turned out to need one; its batch is rolled back and run anew with it."""


class Rows:
    """Reading statements on one connection; valid until the transaction ends."""

    __slots__ = ("_connection",)

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """All rows of a statement."""
        return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Value) -> Row | None:
        """The first row of a statement, if there is one."""
        found: Row | None = self._connection.execute(sql, values).fetchone()
        return found

    def value(self, sql: str, *values: Value) -> Any:
        """The first column of the first row.

        Raises:
            LookupError: there is no row.
        """
        found = self.row(sql, *values)
        if found is None:
            raise LookupError("the statement found no row")
        return found[0]


class WaitingCount:
    """How many messages wait, per lane and in all, kept beside the table so that admitting counts nothing.

    Changes can be undone with the savepoint or transaction that made them.
    """

    __slots__ = ("_lanes", "_total", "_undo")

    def __init__(self) -> None:
        self._lanes: dict[int, int] = {}
        self._total = 0
        self._undo: list[tuple[int, int]] = []

    @property
    def total(self) -> int:
        """Messages that wait in all lanes."""
        return self._total

    def here(self, lane: LaneId) -> int:
        """Messages that wait in one lane."""
        return self._lanes.get(lane, 0)

    def change(self, lane: LaneId, by: int) -> None:
        """More (or fewer, when negative) messages of a lane wait."""
        self._apply(lane, by)
        self._undo.append((lane, by))

    def mark(self) -> int:
        """A point that `undo_to` can go back to."""
        return len(self._undo)

    def undo_to(self, mark: int = 0) -> None:
        """Forget every change since the mark."""
        while len(self._undo) > mark:
            lane, by = self._undo.pop()
            self._apply(lane, -by)

    def keep(self) -> None:
        """The transaction is committed; its changes can no longer be undone."""
        self._undo.clear()

    def recount(self, rows: Rows) -> None:
        """Read the counts from the tables anew."""
        counted = rows.rows(
            "SELECT t.lane, count(*) FROM turns t JOIN messages m ON m.turn=t.turn"
            " WHERE t.state IN('collecting','queued') GROUP BY t.lane"
        )
        self._lanes = dict(counted)
        self._total = sum(self._lanes.values())
        self._undo.clear()

    def _apply(self, lane: int, by: int) -> None:
        left = self._lanes.get(lane, 0) + by
        if left:
            self._lanes[lane] = left
        else:
            self._lanes.pop(lane, None)
        self._total += by


class Transaction(Rows):
    """One writing transaction, shared by the calls of a batch.

    Attributes:
        now: its time in milliseconds; the same for the whole batch.
        epoch: the owner on whose behalf it writes; taking the home sets a new one.
        durable: its commit is synced.
    """

    __slots__ = ("durable", "epoch", "ids", "now", "waiting")

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        now: int,
        epoch: Epoch,
        durable: bool,
        ids: Ids,
        waiting: WaitingCount,
    ) -> None:
        super().__init__(connection)
        self.now = now
        self.epoch = epoch
        self.durable = durable
        self.ids = ids
        self.waiting = waiting

    def run(self, sql: str, *values: Value) -> int:
        """Run a writing statement; returns how many rows it changed."""
        self._connection.execute(sql, values)
        return self._connection.changes()

    def insert(self, sql: str, *values: Value) -> int:
        """Insert one row; returns its id."""
        self._connection.execute(sql, values)
        return self._connection.last_insert_rowid()

    def require_sync(self) -> None:
        """What is written here must survive a power cut.

        Raises:
            SyncNeeded: the transaction was begun without; the writer runs it again with sync.
        """
        if not self.durable:
            raise SyncNeeded

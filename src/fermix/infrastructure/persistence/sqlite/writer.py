"""The one thread that writes: all calls that wait share one transaction and one sync."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw
from anyio.lowlevel import EventLoopToken

from fermix.application.ports.clock import Clock, Ids
from fermix.application.ports.ledger_errors import (
    LedgerBroken,
    LedgerError,
    LedgerFull,
    LedgerUnavailable,
    OwnerLost,
)
from fermix.domain.ids import Epoch
from fermix.infrastructure.persistence.sqlite.calls import Call, CallQueue, join
from fermix.infrastructure.persistence.sqlite.codec import to_ms
from fermix.infrastructure.persistence.sqlite.connection import set_synchronous
from fermix.infrastructure.persistence.sqlite.transaction import SyncNeeded, Transaction, WaitingCount

T = TypeVar("T")

MAX_BATCH = 256
"""Calls in one transaction: bounds how long the first of them waits for the last."""

_NO_OWNER = Epoch(0)

_FATAL = (apsw.IOError, apsw.CorruptError, apsw.NotADBError)
"""The disk or the file is at fault; nothing read or written after it can be trusted."""

_ENDS_BATCH = (*_FATAL, apsw.FullError, apsw.NoMemError, SyncNeeded)


class Writer:
    """Owns the writing connection. Every call runs in a savepoint of its own, in the order it was queued."""

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        token: EventLoopToken,
        clock: Clock,
        ids: Ids,
        on_broken: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._queue: CallQueue[Transaction] = CallQueue(token=token)
        self._clock = clock
        self._ids = ids
        self._on_broken = on_broken
        self._waiting = WaitingCount()
        self._epoch = _NO_OWNER
        self._durable = True
        self._broken: str | None = None
        self._thread = threading.Thread(target=self._serve, name="ledger-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def aclose(self) -> None:
        """Finish what was queued, refuse the rest, end the thread and close the file."""
        self._queue.close()
        await join(self._thread)

    async def do(self, work: Callable[[Transaction], T], *, durable: bool) -> T:
        """Run `work` in a transaction and return its result after the commit.

        Args:
            work: must be repeatable: it runs again when its batch needs a sync it was not begun with.
            durable: the commit must survive a power cut, not only the end of this process.

        Raises:
            LedgerError: as the ports say; what `work` raised is raised here, with nothing of it written.
        """
        return await self._queue.run(work, durable=durable)

    async def take_over(self, work: Callable[[Transaction], T]) -> T:
        """Run the one call that needs no epoch, in a durable transaction of its own, and count what waits."""
        return await self._queue.run(work, durable=True, exclusive=True)

    def _serve(self) -> None:
        try:
            while calls := self._queue.take(MAX_BATCH):
                was_broken = self._broken is not None
                self._settle(calls)
                breaks_now = self._broken is not None and not was_broken
                self._queue.hand_back(calls, first=self._on_broken if breaks_now else None)
        finally:
            self._queue.close()
            if self._broken is not None:
                # Closing would checkpoint, and so sync again what the disk has refused.
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._connection.close()

    def _settle(self, calls: Sequence[Call[Transaction]]) -> None:
        """Give every call a result or an error."""
        if self._broken is not None:
            self._refuse(calls, LedgerBroken, self._broken)
            return
        durable = any(call.durable for call in calls)
        try:
            try:
                self._commit(calls, durable=durable)
            except SyncNeeded:
                self._roll_back()
                self._commit(calls, durable=True)
        except LedgerError as exc:
            self._roll_back()
            self._refuse(calls, type(exc), str(exc), exc)
        except apsw.FullError as exc:
            self._roll_back()
            self._refuse(calls, LedgerFull, "the disk is full; nothing was written", exc)
        except (
            apsw.BusyError,
            apsw.LockedError,
            apsw.NoMemError,
            apsw.CantOpenError,
            apsw.ReadOnlyError,
        ) as exc:
            self._roll_back()
            self._refuse(calls, LedgerUnavailable, f"nothing was written: {exc}", exc)
        except Exception as exc:  # noqa: BLE001  whatever it is, every caller hears of it and nothing goes on
            self._break(calls, exc)

    def _commit(self, calls: Sequence[Call[Transaction]], *, durable: bool) -> None:
        if durable is not self._durable:
            set_synchronous(self._connection, durable=durable)
            self._durable = durable
        self._connection.execute("BEGIN IMMEDIATE")
        tx = Transaction(
            self._connection,
            now=to_ms(self._clock.now()),
            epoch=self._epoch,
            durable=durable,
            ids=self._ids,
            waiting=self._waiting,
        )
        if not calls[0].exclusive:
            self._check_owner(tx)
        for call in calls:
            self._run(tx, call)
        self._connection.execute("COMMIT")
        self._waiting.keep()
        self._epoch = tx.epoch

    def _check_owner(self, tx: Transaction) -> None:
        if self._epoch == _NO_OWNER:
            raise LedgerUnavailable("the home was not taken yet")
        owner = tx.value("SELECT epoch FROM runtime")
        if owner != self._epoch:
            raise OwnerLost(f"this home belongs to epoch {owner} now; this process is of epoch {self._epoch}")

    def _run(self, tx: Transaction, call: Call[Transaction]) -> None:
        mark = self._waiting.mark()
        self._connection.execute("SAVEPOINT one_call")
        call.result = call.error = None
        try:
            call.result = call.work(tx)
        except _ENDS_BATCH:
            raise
        except Exception as exc:
            # Not handled here: its caller raises it.
            if not self._connection.in_transaction:
                raise
            self._connection.execute("ROLLBACK TO one_call")
            self._waiting.undo_to(mark)
            call.error = _of_one_call(exc)
        self._connection.execute("RELEASE one_call")

    def _roll_back(self) -> None:
        self._waiting.undo_to()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _break(self, calls: Sequence[Call[Transaction]], cause: Exception) -> None:
        self._broken = f"the disk failed and what it holds is unknown: {cause}"
        self._refuse(calls, LedgerBroken, self._broken, cause)

    @staticmethod
    def _refuse(
        calls: Sequence[Call[Transaction]],
        kind: type[LedgerError],
        text: str,
        cause: BaseException | None = None,
    ) -> None:
        for call in calls:
            # One error each: an error object raised in several tasks would collect all their tracebacks.
            call.result, call.error = None, kind(text)
            call.error.__cause__ = cause


def _of_one_call(error: Exception) -> Exception:
    if isinstance(error, apsw.ConstraintError):
        refused = LedgerError(f"a rule of the ledger refused this: {error}")
        refused.__cause__ = error
        return refused
    return error

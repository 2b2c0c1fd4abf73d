"""The thread that reads: a connection of its own, and transactions as short as one question."""

import threading
from collections.abc import Callable
from typing import TypeVar

import apsw
from anyio.lowlevel import EventLoopToken

from fermix.application.ports.ledger_errors import LedgerBroken, LedgerError, LedgerUnavailable
from fermix.infrastructure.persistence.sqlite.calls import Call, CallQueue, join
from fermix.infrastructure.persistence.sqlite.transaction import Rows

T = TypeVar("T")

_MOST_AT_ONCE = 32


class Reader:
    """Owns the read-only connection. An open reading transaction would keep the log from being reused."""

    def __init__(self, connection: apsw.Connection, *, token: EventLoopToken) -> None:
        self._connection = connection
        self._queue: CallQueue[Rows] = CallQueue(token=token)
        self._thread = threading.Thread(target=self._serve, name="ledger-reader", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def aclose(self) -> None:
        """Finish what was asked, end the thread and close the connection."""
        self._queue.close()
        await join(self._thread)

    async def ask(self, question: Callable[[Rows], T]) -> T:
        """Run `question` over one consistent state of the ledger.

        Raises:
            LedgerError: closed, locked or unreadable.
        """
        return await self._queue.run(question)

    def _serve(self) -> None:
        try:
            while calls := self._queue.take(_MOST_AT_ONCE):
                for call in calls:
                    self._answer(call)
                self._queue.hand_back(calls)
        finally:
            self._queue.close()
            self._connection.close()

    def _answer(self, call: Call[Rows]) -> None:
        try:
            self._connection.execute("BEGIN")
            call.result = call.work(Rows(self._connection))
        except Exception as exc:  # noqa: BLE001  not handled here: its caller raises it
            call.error = _translated(exc)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _translated(error: Exception) -> Exception:
    translated: LedgerError
    match error:
        case apsw.CorruptError() | apsw.NotADBError():
            translated = LedgerBroken(f"the ledger's file is damaged: {error}")
        case apsw.BusyError() | apsw.LockedError() | apsw.IOError() | apsw.CantOpenError():
            translated = LedgerUnavailable(f"the ledger cannot be read: {error}")
        case _:
            return error
    translated.__cause__ = error
    return translated

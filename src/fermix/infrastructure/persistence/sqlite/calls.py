"""Handing work to a thread and its results back: first in, first out, bounded, results many at a time."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import anyio
from anyio import CancelScope, Event, RunFinishedError, from_thread
from anyio.lowlevel import EventLoopToken

from fermix.application.ports.ledger_errors import LedgerUnavailable

S = TypeVar("S")
T = TypeVar("T")

MAX_QUEUED = 4096
"""Calls that may wait; beyond them a caller is refused at once, so that memory stays bounded."""


class Call(Generic[S]):
    """One piece of work on its way through the thread.

    Attributes:
        durable: its commit must survive a power cut.
        exclusive: it shares its transaction with no other call.
    """

    __slots__ = ("durable", "error", "exclusive", "finished", "result", "work")

    def __init__(self, work: Callable[[S], Any], *, durable: bool, exclusive: bool) -> None:
        self.work = work
        self.durable = durable
        self.exclusive = exclusive
        self.finished = Event()
        self.result: Any = None
        self.error: BaseException | None = None


class CallQueue(Generic[S]):
    """The queue between the event loop and one thread."""

    def __init__(self, *, token: EventLoopToken, most: int = MAX_QUEUED) -> None:
        self._token = token
        self._most = most
        self._calls: deque[Call[S]] = deque()
        self._changed = threading.Condition()
        self._closed = False

    async def run(self, work: Callable[[S], T], *, durable: bool = False, exclusive: bool = False) -> T:
        """Queue `work` and return what it returned.

        It is queued before the first await, so calls run in the order they were made. Once queued it runs,
        also when its caller is cancelled; the cancellation reaches the caller after the result.

        Raises:
            LedgerUnavailable: closed, or too many calls wait; nothing was queued.
        """
        call: Call[S] = Call(work, durable=durable, exclusive=exclusive)
        with self._changed:
            if self._closed:
                raise LedgerUnavailable("the ledger is closed")
            if len(self._calls) >= self._most:
                raise LedgerUnavailable(f"{self._most} calls wait for the ledger already")
            self._calls.append(call)
            self._changed.notify()
        with CancelScope(shield=True):
            await call.finished.wait()
        if call.error is not None:
            raise call.error
        result: T = call.result
        return result

    def take(self, most: int) -> list[Call[S]]:
        """Wait for calls and take up to `most` of them; empty once closed and drained. Runs in the thread."""
        with self._changed:
            while not self._calls:
                if self._closed:
                    return []
                self._changed.wait()
            taken = [self._calls.popleft()]
            while not taken[0].exclusive and self._calls and len(taken) < most:
                if self._calls[0].exclusive:
                    break
                taken.append(self._calls.popleft())
            return taken

    def hand_back(self, calls: Sequence[Call[S]], *, first: Callable[[], None] | None = None) -> None:
        """Let the callers go on, with one hop into the loop; `first` is called there before them."""

        def release() -> None:
            try:
                if first is not None:
                    first()
            finally:
                for call in calls:
                    call.finished.set()

        try:
            from_thread.run_sync(release, token=self._token)
        except RunFinishedError:
            return  # The loop is gone, and with it everybody who could wait.

    def close(self) -> None:
        """Refuse new calls; those that wait still run."""
        with self._changed:
            self._closed = True
            self._changed.notify()


async def join(thread: threading.Thread, *, at_most: float = 10) -> None:
    """Wait until a thread has ended, for `at_most` seconds: a disk that hangs must not hang the exit."""
    with CancelScope(shield=True):
        await anyio.to_thread.run_sync(thread.join, at_most)

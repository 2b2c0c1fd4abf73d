"""A disk that remembers commits, and the process that makes them: what a kill and a power cut leave behind."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import anyio.lowlevel

from fermix.application.ports.clock import Clock, Ids
from fermix.application.ports.ledger_errors import LedgerUnavailable, OwnerLost
from fermix.domain.ids import Epoch
from fermix.testing.memory.tables import Tables

T = TypeVar("T")


class MemoryDisk:
    """Finished commits: one synced state, and the states lazily committed after it, oldest first.

    The death of a process takes nothing from it. A power cut takes lazy commits from the newest backwards.
    """

    def __init__(self) -> None:
        self._synced = Tables()
        self._lazy: list[Tables] = []

    @property
    def newest(self) -> Tables:
        """The state after the last finished commit; not to be changed."""
        return self._lazy[-1] if self._lazy else self._synced

    @property
    def unsynced(self) -> int:
        """How many commits a power cut can take."""
        return len(self._lazy)

    def commit(self, tables: Tables, *, durable: bool) -> None:
        """Finish a commit; a durable one syncs all before it too."""
        if durable:
            self._synced = tables
            self._lazy.clear()
        else:
            self._lazy.append(tables)

    def cut_power(self, *, keep: int) -> None:
        """Lose all lazy commits but the `keep` oldest ones; what is left is what the next process finds.

        Raises:
            ValueError: `keep` is negative.
        """
        if keep < 0:
            raise ValueError("a power cut keeps no negative number of commits")
        self._synced = ([self._synced, *self._lazy])[min(keep, len(self._lazy))]
        self._lazy.clear()


@dataclass(slots=True, kw_only=True)
class Transaction:
    """What the body of a transaction works on: a copy that becomes the disk's state when it ends well.

    Attributes:
        durable: must survive a power cut; a body may ask for that while it runs.
    """

    tables: Tables
    now: datetime
    epoch: Epoch
    ids: Ids
    durable: bool


class Process:
    """One owner, or would-be owner, of the disk. Every call is one transaction and is never half done."""

    def __init__(self, *, disk: MemoryDisk, clock: Clock, ids: Ids) -> None:
        self._disk = disk
        self._clock = clock
        self._ids = ids
        self._epoch: Epoch | None = None
        self._alive = True

    def end(self) -> None:
        """From now on every call is refused."""
        self._alive = False

    async def write(self, work: Callable[[Transaction], T], *, durable: bool) -> T:
        """Run `work` and commit, or leave everything as it was when it raises.

        Raises:
            LedgerUnavailable: the process has ended, or has not taken the home.
            OwnerLost: another process took the home.
        """
        if self._epoch is None and self._alive:
            raise LedgerUnavailable("the home was not taken yet")
        result = self._commit(work, durable=durable)
        await anyio.lowlevel.cancel_shielded_checkpoint()
        return result

    async def take_over(self, work: Callable[[Transaction], T]) -> T:
        """Run the one call that needs no ownership; the epoch it leaves behind is this process's."""
        self._epoch = None
        result = self._commit(work, durable=True)
        owner = self._disk.newest.owner
        self._epoch = None if owner is None else owner.epoch
        await anyio.lowlevel.cancel_shielded_checkpoint()
        return result

    async def read(self, question: Callable[[Tables], T]) -> T:
        """Ask about the newest state.

        Raises:
            LedgerUnavailable: the process has ended.
        """
        self._check_alive()
        result = question(self._disk.newest)
        await anyio.lowlevel.cancel_shielded_checkpoint()
        return result

    def _commit(self, work: Callable[[Transaction], T], *, durable: bool) -> T:
        self._check_alive()
        owner = self._disk.newest.owner
        if self._epoch is not None and (owner is None or owner.epoch != self._epoch):
            raise OwnerLost(f"this home is not of epoch {self._epoch} any more")
        transaction = Transaction(
            tables=self._disk.newest.copy(),
            now=self._clock.now(),
            epoch=self._epoch if self._epoch is not None else Epoch(0),
            ids=self._ids,
            durable=durable,
        )
        result = work(transaction)
        self._disk.commit(transaction.tables, durable=transaction.durable)
        return result

    def _check_alive(self) -> None:
        if not self._alive:
            raise LedgerUnavailable("this process has ended")

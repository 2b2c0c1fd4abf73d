"""The ledgers that are put to the test, each as a home that can die."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from fermix.testing.ledger_harness import LedgerHarness
from fermix.testing.memory_home import MemoryHome
from tests.contract.ledger.harness_sqlite import SqliteHome, a_disk

Home = Callable[[Path], AbstractContextManager[LedgerHarness]]


@contextmanager
def in_memory(folder: Path) -> Generator[LedgerHarness]:
    """A home of the in-memory ledger; the folder is not needed."""
    yield MemoryHome()


@contextmanager
def in_sqlite(folder: Path) -> Generator[LedgerHarness]:
    """A home of the SQLite ledger in the folder, which is made when it is missing."""
    folder.mkdir(exist_ok=True)
    with a_disk() as disk:
        yield SqliteHome(folder, disk)


HOMES: dict[str, Home] = {"memory": in_memory, "sqlite": in_sqlite}

"""Copies of one ledger, each in a process that dies in another of its writes to the disk.

`python -m tests.integration.ledger.dying_process FOLDER upgrade 1 2 3` works on `FOLDER/ledger.db` in the copies
`FOLDER/1/ledger.db`, …, and stops at the first process that lives to its end. What a process knows to be
committed stands in `acknowledged` beside its ledger.
"""

import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from fermix.application.ports.ownership import Retention
from tests.integration.ledger.disks import a_disk
from tests.integration.ledger.kit import START, StoppedClock, admit_one, an_owned_ledger, says
from tests.integration.ledger.test_sweeping import MONTH

LARGE = "x" * 200_000
ENOUGH_FOR_A_CHECKPOINT = 40


async def upgrade(path: Path) -> None:
    """Open the file."""
    async with an_owned_ledger(path):
        pass


async def sweep(path: Path) -> None:
    """Let go of everything old, two rows at a time."""
    clock = StoppedClock(START + 2 * MONTH)
    async with an_owned_ledger(path, clock=clock) as ledger:
        while await ledger.ownership.sweep(Retention(), limit=2):
            pass


async def checkpoint(path: Path) -> None:
    """Admit until the log has been copied into the file."""
    acknowledged = path.with_name("acknowledged")
    async with an_owned_ledger(path) as ledger:
        with acknowledged.open("a", buffering=1) as kept:
            for number in range(ENOUGH_FOR_A_CHECKPOINT):
                await admit_one(ledger, says(f"new-{number}", LARGE, chat=f"{number}"))
                kept.write(f"new-{number}\n")


DOINGS: dict[str, Callable[[Path], Awaitable[None]]] = {
    "upgrade": upgrade,
    "sweep": sweep,
    "checkpoint": checkpoint,
}


def main(folder: Path, doing: str, writes: list[int]) -> None:
    for number in writes:
        copy = folder / str(number)
        copy.mkdir()
        shutil.copy(folder / "ledger.db", copy)
        child = os.fork()
        if child == 0:
            with a_disk() as disk:
                disk.kills_at, disk.counts_logs = number, doing != "checkpoint"
                anyio.run(DOINGS[doing], copy / "ledger.db")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(number, os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201  what the test reads
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [int(each) for each in sys.argv[3:]])

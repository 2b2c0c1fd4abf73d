"""A process that admits message after message and prints each key once it is committed, until it is killed."""

import sys
from pathlib import Path

import anyio

from fermix.domain.lane import QueueLimits
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from tests.integration.ledger.kit import admit_one, an_owned_ledger, says


async def main(path: Path, name: str) -> None:
    limits = QueueLimits(per_conversation=1, total=1_000_000)
    async with an_owned_ledger(path, limits=limits) as ledger, anyio.create_task_group() as tasks:
        for lane in range(4):
            tasks.start_soon(admit_without_end, ledger, f"{name}-{lane}")


async def admit_without_end(ledger: SqliteLedger, name: str) -> None:
    number = 0
    while True:
        key = f"{name}-{number}"
        await admit_one(ledger, says(key, chat=key))
        print(key, flush=True)  # noqa: T201  what the test reads
        number += 1


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])

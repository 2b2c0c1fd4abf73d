"""Thousands of random histories over the ledgers: `python -m benchmarks.ledger_histories` in the project's root.

Prints how many were lived and died through, every broken promise with its seed, and how soon each planted fault
is found. Ends with status 1 when a promise was broken or a planted fault was missed. With the defaults it takes
some seven minutes on two slow cores; the files lie in memory where the system has `/dev/shm`.
"""

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from fermix.testing.histories import BREAKS, SABOTEURS, Promise, Sabotage, check, run_history
from tests.contract.ledger.homes import HOMES

CHUNK = 100
WITHIN = 500
"""A planted fault must be found within so many histories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Histories to live: odd seeds with power cuts, even ones with kills alone."""

    home: str
    first: int
    count: int


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was seen of some histories."""

    histories: int = 0
    deaths: int = 0
    power_cuts: int = 0
    events: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Count what was seen of other histories too."""
        self.histories += other.histories
        self.deaths += other.deaths
        self.power_cuts += other.power_cuts
        self.events += other.events
        self.endings += other.endings
        self.broken += other.broken


async def live(home: str, seed: int, sabotage: Sabotage | None, tally: Tally) -> set[Promise]:
    """Live one history and note what was seen; returns the promises it broke."""
    shm = Path("/dev/shm")  # noqa: S108  a new private folder in memory
    place = str(shm) if await anyio.Path(shm).is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder, HOMES[home](Path(folder) / "home") as harness:
        history = await run_history(harness, seed=seed, power_cuts=seed % 2 == 1, sabotage=sabotage)
    violations = check(history)
    tally.histories += 1
    tally.deaths += history.deaths
    tally.power_cuts += history.power_cuts
    tally.events += len(history.events)
    tally.endings.update(str(fate.outcome) for fate in history.fates.values())
    tally.broken += [f"{home}, seed {seed}: {each.promise}: {each.detail}" for each in violations]
    return {violation.promise for violation in violations}


def work(chunk: Chunk) -> Tally:
    """Live a chunk of histories; one process of the pool."""
    tally = Tally()

    async def all_of_it() -> None:
        for seed in range(chunk.first, chunk.first + chunk.count):
            await live(chunk.home, seed, None, tally)

    anyio.run(all_of_it)
    return tally


def found_after(home: str, saboteur: str) -> int | None:
    """How many histories it takes until a planted fault breaks the promise it is meant to break."""

    async def look() -> int | None:
        for seed in range(WITHIN):
            if BREAKS[saboteur] in await live(home, seed, SABOTEURS[saboteur], Tally()):
                return seed + 1
        return None

    return anyio.run(look)


def chunks(home: str, first: int, histories: int) -> Iterator[Chunk]:
    for start in range(0, histories, CHUNK):
        yield Chunk(home=home, first=first + start, count=min(CHUNK, histories - start))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger_histories")
    parser.add_argument("--histories", type=int, default=8000, help="over each ledger (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; drawn when left out")
    parser.add_argument("--ledger", choices=[*HOMES, "both"], default="both")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    options = parser.parse_args()
    first = secrets.randbelow(10**9) if options.seed is None else options.seed
    homes = list(HOMES) if options.ledger == "both" else [options.ledger]
    print(f"first seed {first}, {options.histories} histories over each of {', '.join(homes)}")
    failed = False
    with ProcessPoolExecutor(max_workers=options.jobs) as pool:
        for home in homes:
            began = time.perf_counter()
            tally = Tally()
            for part in pool.map(work, chunks(home, first, options.histories)):
                tally.add(part)
            endings = ", ".join(f"{number} {ending}" for ending, number in tally.endings.most_common())
            print(
                f"{home}: {tally.histories} histories, {tally.deaths} deaths ({tally.power_cuts} power cuts), "
                f"{tally.events} events, {len(tally.broken)} broken promises, "
                f"{time.perf_counter() - began:.0f} s; messages: {endings}"
            )
            print(*tally.broken[:20], sep="\n", end="\n" if tally.broken else "")
            failed |= bool(tally.broken)
            for saboteur, found in zip(
                SABOTEURS, pool.map(partial(found_after, home), SABOTEURS), strict=True
            ):
                print(f"{home}: {saboteur} found after {found} histories")
                failed |= found is None
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

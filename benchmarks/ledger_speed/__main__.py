"""How fast the ledger is: `python -m benchmarks.ledger_speed` in the project's root.

Prints a Markdown table. Every figure is the median over some rounds; its floor is what one bare synced commit of
one row costs through the same library, measured in the same round. With `--profile` it prints where the
processor's time of whole lives goes instead. The files lie below the working directory: a disk in memory syncs
nothing.
"""

import argparse
import cProfile
import pstats
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable
from functools import partial
from pathlib import Path

import anyio

from benchmarks.ledger_speed.floor import Floor
from benchmarks.ledger_speed.lives import admit, claim, live_alone, live_together, owned
from benchmarks.measuring.figures import Figure, circumstances, table
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from tests.integration.ledger.disks import a_disk

AT_ONCE = 50
WAITING = 1000
COMMITS = 100
LIVES = 300

Figures = dict[str, list[float]]


async def admit_many(ledger: SqliteLedger, *, numbers: range, lanes: int) -> None:
    """Admit messages all at the same time, spread over so many conversations."""
    async with anyio.create_task_group() as tasks:
        for number in numbers:
            tasks.start_soon(partial(admit, ledger, chat=number % lanes))


async def admit_one_by_one(ledger: SqliteLedger) -> None:
    """Admit messages one after another."""
    for _ in range(COMMITS):
        await admit(ledger, chat=1)


async def fill_the_log(ledger: SqliteLedger) -> None:
    """Let the log reach its full size once: growing a file makes every sync dearer."""
    await live_together(ledger, lanes=AT_ONCE, messages=AT_ONCE * 20)


class Round:
    """One round on fresh files. Before each measurement the floor is measured, since a disk is never the same."""

    def __init__(self, folder: Path, figures: Figures) -> None:
        self._folder = folder
        self._figures = figures
        self._floor = Floor(folder / "floor.db")

    async def all(self) -> None:
        """Measure everything once."""
        try:
            async with owned(self._folder / "commits.db") as ledger:
                await fill_the_log(ledger)
                await self._time("commit", admit_one_by_one(ledger), per=COMMITS)
                await self._time("parallel", admit_many(ledger, numbers=range(AT_ONCE), lanes=AT_ONCE))
            for lanes in (1, WAITING):
                await self._claim_with_waiting(lanes=lanes)
            async with owned(self._folder / "alone.db") as ledger:
                await fill_the_log(ledger)
                await self._time("life alone", live_alone(ledger, messages=LIVES), per=LIVES)
            async with owned(self._folder / "together.db") as ledger:
                await fill_the_log(ledger)
                crowd = live_together(ledger, lanes=AT_ONCE, messages=LIVES * 3)
                await self._time("life together", crowd, per=LIVES * 3)
        finally:
            self._floor.close()

    async def _claim_with_waiting(self, *, lanes: int) -> None:
        """One claim of one slot while 1,000 messages wait in so many conversations."""
        async with owned(self._folder / f"waiting-in-{lanes}.db") as ledger:
            for start in range(0, WAITING, 250):
                await admit_many(ledger, numbers=range(start, start + 250), lanes=lanes)
            await self._time(f"claim of {lanes}", claim(ledger, limit=1))

    async def _time(self, key: str, work: Awaitable[object], *, per: int = 1) -> None:
        """Milliseconds of wall and of processor time (all threads) of one out of `per`, and of the floor."""
        began, cpu = time.perf_counter(), time.process_time()
        self._floor.commits(COMMITS)
        self._note(f"{key} floor", began, cpu, per=COMMITS)
        began, cpu = time.perf_counter(), time.process_time()
        await work
        self._note(key, began, cpu, per=per)

    def _note(self, key: str, began: float, cpu: float, *, per: int) -> None:
        self._figures[key].append((time.perf_counter() - began) * 1000 / per)
        self._figures[f"{key} cpu"].append((time.process_time() - cpu) * 1000 / per)


async def one_round(folder: Path, figures: Figures) -> None:
    """Measure everything once."""
    await Round(folder, figures).all()


async def syncs(folder: Path, *, lanes: int) -> float:
    """Syncs per message of whole lives."""
    with a_disk() as disk:
        async with owned(folder / "syncs.db") as ledger:
            await live_together(ledger, lanes=lanes, messages=lanes)
            before = disk.syncs
            await live_together(ledger, lanes=lanes, messages=LIVES)
            return (disk.syncs - before) / LIVES


def told(figures: Figures) -> list[Figure]:
    """The figures in words."""

    def figure(key: str, name: str, of: str = "") -> Figure:
        return Figure(name=name, unit="ms", rounds=figures[f"{key}{of}"], floor=figures[f"{key} floor{of}"])

    return [
        figure("commit", "one admission, alone"),
        figure("parallel", f"{AT_ONCE} admissions at once, all of them"),
        figure(f"claim of {WAITING}", f"a claim, {WAITING:,} waiting in {WAITING:,} conversations"),
        figure("claim of 1", f"a claim, {WAITING:,} waiting in one conversation"),
        figure("life alone", "a whole life, alone"),
        figure("life together", f"a whole life, {AT_ONCE} conversations at once, per message"),
        figure("commit", "processor time of an admission, alone", " cpu"),
        figure("life alone", "processor time of a life, alone", " cpu"),
        figure("life together", f"processor time of a life, {AT_ONCE} at once", " cpu"),
        Figure(name="syncs per message, alone", unit="", rounds=figures["syncs alone"]),
        Figure(name=f"syncs per message, {AT_ONCE} at once", unit="", rounds=figures["syncs together"]),
    ]


def profiled(folder: Path) -> None:
    """Where the processor's time of whole lives goes: the writing thread, then the event loop."""
    writing = cProfile.Profile()
    threading.setprofile(
        lambda *_: writing.enable() if threading.current_thread().name == "ledger-writer" else None
    )

    async def run() -> None:
        async with owned(folder / "profile.db") as ledger:
            threading.setprofile(None)
            await live_together(ledger, lanes=AT_ONCE, messages=LIVES * 5)

    looping = cProfile.Profile()
    looping.runcall(lambda: anyio.run(run, backend_options={"use_uvloop": True}))
    for name, profile in (("event loop", looping), ("writing thread", writing)):
        print(f"## {name}, {LIVES * 5} lives\n")
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger_speed", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".ledger-speed-") as made:
        folder = Path(made)
        if chosen.profile:
            profiled(folder)
            return
        figures: Figures = defaultdict(list)
        for number in range(chosen.rounds):
            place = folder / str(number)
            place.mkdir()
            anyio.run(one_round, place, figures, backend_options={"use_uvloop": True})
        for key, lanes in (("syncs alone", 1), ("syncs together", AT_ONCE)):
            place = folder / key
            place.mkdir()
            counted = anyio.run(lambda place, lanes: syncs(place, lanes=lanes), place, lanes)
            figures[key].append(counted)
    print(circumstances(rounds=chosen.rounds))
    print()
    print(table(told(figures)))


if __name__ == "__main__":
    main()

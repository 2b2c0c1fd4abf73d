"""What each step of a message costs: `python -m benchmarks.stages` in the project's root.

The way in, stage by stage, and the ledger's steps after it, for one message at a time. Every row is the median
over some rounds of a median or of a 99th percentile of single calls. The floor of the stages is one look into a
dictionary, timed in the same manner (its p50 for every row, since its own slow calls are the machine's); that of
the ledger's steps is one bare synced commit.
"""

import argparse
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import median

import anyio

from benchmarks.ledger_speed.floor import Floor
from benchmarks.ledger_speed.lives import SERVED, admit, live_together, owned
from benchmarks.measuring.figures import Figure, circumstances, table
from benchmarks.stages.timing import Spread, timed, timed_waiting
from benchmarks.stages.way_in import authorisations, looked_up, stage_by_stage
from fermix.application.ports.outbox import SendingPart, Sent
from fermix.application.ports.turns import ClaimedTurn
from fermix.domain.ids import PlatformMessageId
from fermix.infrastructure.persistence.sqlite.database import SqliteLedger
from fermix.testing.samples import answering

MESSAGES = 2000
LIVES = 200
ALLOWED_MICROSECONDS = 50.0
"""What deciding about one sender may take."""

Figures = defaultdict[str, list[float]]


def note(figures: Figures, name: str, spread: Spread) -> None:
    """Keep one round's spread."""
    figures[f"{name}: p50"].append(spread.p50)
    figures[f"{name}: p99"].append(spread.p99)


async def ledger_steps(folder: Path, figures: Figures) -> None:
    """Admission, claim, settlement and the end of a delivery, for one message at a time."""
    floor = Floor(folder / "floor.db")
    bare = timed([partial(floor.commits, 1)] * LIVES)
    floor.close()
    figures["bare commit"].append(bare.p50)
    async with owned(folder / "ledger.db") as ledger:
        # The log reaches its full size once: growing a file makes every sync dearer.
        await live_together(ledger, lanes=50, messages=1000)
        admitted, _ = await timed_waiting([partial(admit, ledger, chat=number) for number in range(LIVES)])
        claimed, claims = await timed_waiting([partial(_claim, ledger)] * LIVES)
        turns = [turn for turn in claims if isinstance(turn, ClaimedTurn)]
        settled, settlements = await timed_waiting([partial(_settle, ledger, turn) for turn in turns])
        parts = [part for part in settlements if isinstance(part, SendingPart)]
        done, _ = await timed_waiting([partial(_done, ledger, part) for part in parts])
    note(figures, "admit", admitted)
    note(figures, "claim", claimed)
    note(figures, "settle", settled)
    note(figures, "delivered", done)


async def _claim(ledger: SqliteLedger) -> ClaimedTurn:
    (turn,) = (await ledger.turns.claim(limit=1, channels=SERVED)).turns
    return turn


async def _settle(ledger: SqliteLedger, turn: ClaimedTurn) -> SendingPart:
    (part,) = await ledger.turns.settle(answering(turn, "answer " * 20))
    return part


async def _done(ledger: SqliteLedger, part: SendingPart) -> None:
    await ledger.outbox.done(part.part, Sent(platform_id=PlatformMessageId(f"p{part.part}")))


def told(figures: Figures) -> list[Figure]:
    """The figures in words."""
    pure = [name for name in figures if name.startswith(("stage ", "authorise "))]
    rows = [Figure(name=name, unit="µs", rounds=figures[name], floor=figures["lookup"]) for name in pure]
    slowest = max((name for name in pure if "authorise" in name), key=lambda name: median(figures[name]))
    rows.append(
        Figure(
            name=f"the slowest of these decisions (floor: the {ALLOWED_MICROSECONDS:g} µs allowed)",
            unit="µs",
            rounds=figures[slowest],
            floor=[ALLOWED_MICROSECONDS] * len(figures[slowest]),
            goal=1,
        )
    )
    rows += [
        Figure(name=f"ledger: {name}", unit="µs", rounds=figures[name], floor=figures["bare commit"])
        for name in figures
        if name.startswith(("admit:", "claim:", "settle:", "delivered:"))
    ]
    return rows


async def run(rounds: int) -> None:
    """Measure, and print the table."""
    figures: Figures = defaultdict(list)
    stage_by_stage(MESSAGES // 10)
    for _ in range(rounds):
        figures["lookup"].append(looked_up(MESSAGES).p50)
        for name, spread in stage_by_stage(MESSAGES).items():
            note(figures, f"stage {name}", spread)
        for name, spread in authorisations(MESSAGES).items():
            note(figures, f"authorise {name}", spread)
        with tempfile.TemporaryDirectory(prefix="fermix-stages-", dir=Path.cwd()) as folder:
            await ledger_steps(Path(folder), figures)
    print(circumstances(rounds=rounds), table(told(figures)), sep="\n\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    anyio.run(run, parser.parse_args().rounds)


if __name__ == "__main__":
    main()

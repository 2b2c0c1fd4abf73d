"""From a message to its reply: `python -m benchmarks.message_path` in the project's root, on Linux.

Three programs stand in turn between the same two far sides: a floor that does the least a durable gateway can do
with bare sockets, the usual way (python-telegram-bot and the openai SDK, nothing stored), and Fermix as it comes.
Prints a Markdown table; a figure's ratio is that to the floor of the same round.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

from benchmarks.measuring.figures import Figure, circumstances, table
from benchmarks.message_path.far_side import FIRST_CHAT
from benchmarks.message_path.gateways import Gateway, Program, fermix, floor, running, usual

PROGRAMS: dict[str, Program] = {"floor": floor, "usual": usual, "fermix": fermix}
SERIAL, BEFORE = 200, 20
CONVERSATIONS, EACH = 50, 20
BURST = 100
MANY = 1000
LONG, SHORT, LOOK = 500, 10, 40
LIMIT_SECONDS = 120
IDLE_SECONDS = 5.0

Figures = defaultdict[str, list[float]]


async def exchange(gateway: Gateway, chat: int, messages: int) -> None:
    """One message after another in one chat."""
    for _ in range(messages):
        await asyncio.wait_for(gateway.far.write(chat), LIMIT_SECONDS)


async def one_at_a_time(gateway: Gateway, figures: Figures, name: str) -> None:
    """The delay that nobody else's message adds to; a new chat after every tenth, so that histories stay short."""
    await exchange(gateway, FIRST_CHAT, BEFORE)
    gateway.far.delays.clear()
    before = gateway.processor()
    for number in range(SERIAL // 10):
        await exchange(gateway, FIRST_CHAT + 1 + number, 10)
    figures[f"{name} cpu alone"].append((gateway.processor() - before) / SERIAL * 1000)
    delays = [delay * 1000 for delay in gateway.far.delays]
    figures[f"{name} p50"].append(median(delays))
    figures[f"{name} p99"].append(quantiles(delays, n=100)[98])


async def many_at_once(gateway: Gateway, figures: Figures, name: str) -> None:
    """Conversations that each write again as soon as they are answered."""
    before, began = gateway.processor(), time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number in range(CONVERSATIONS):
            tasks.create_task(exchange(gateway, FIRST_CHAT + 100 + number, EACH))
    total = CONVERSATIONS * EACH
    figures[f"{name} time each"].append((time.monotonic() - began) / total * 1000)
    figures[f"{name} cpu each"].append((gateway.processor() - before) / total * 1000)


async def burst(gateway: Gateway, figures: Figures, name: str) -> None:
    """A hundred messages at once in one chat, answered in order or not."""
    replies = [gateway.far.write(FIRST_CHAT + 200) for _ in range(BURST)]
    order: list[int] = []
    for number, reply in enumerate(replies):
        reply.add_done_callback(partial(_note, order, number))
    await asyncio.wait_for(asyncio.gather(*replies), LIMIT_SECONDS)
    figures[f"{name} out of order"].append(sum(a > b for a, b in pairwise(order)))


def _note(order: list[int], number: int, _reply: asyncio.Future[None]) -> None:
    order.append(number)


async def conversations(gateway: Gateway, figures: Figures, name: str) -> None:
    """What a thousand further conversations leave in memory."""
    before = gateway.resident()
    for first in range(0, MANY, 50):
        await asyncio.gather(*(exchange(gateway, FIRST_CHAT + 500 + first + each, 1) for each in range(50)))
    figures[f"{name} memory of many"].append(gateway.resident() - before)


async def long_history(gateway: Gateway, figures: Figures, name: str) -> None:
    """How much dearer a message is at the end of a long conversation."""
    for length, chat in ((SHORT, FIRST_CHAT + 300), (LONG, FIRST_CHAT + 301)):
        await exchange(gateway, chat, length)
        gateway.far.delays.clear()
        await exchange(gateway, chat, LOOK)
        figures[f"{name} after {length}"].append(median(gateway.far.delays) * 1000)


async def measure(name: str, figures: Figures, folder: Path, *, whole: bool) -> None:
    """One round of one program."""
    async with running(PROGRAMS[name], folder) as gateway:
        figures[f"{name} ready"].append(gateway.ready_after)
        await asyncio.sleep(1)
        figures[f"{name} idle memory"].append(gateway.resident())
        await one_at_a_time(gateway, figures, name)
        figures[f"{name} used memory"].append(gateway.resident())
        await many_at_once(gateway, figures, name)
        await burst(gateway, figures, name)
        if whole:
            await conversations(gateway, figures, name)
            await long_history(gateway, figures, name)
            before = gateway.processor()
            await asyncio.sleep(IDLE_SECONDS)
            figures[f"{name} idle cpu"].append((gateway.processor() - before) / IDLE_SECONDS * 100)
        if gateway.far.wrong:
            print(f"{name}: {gateway.far.wrong} replies doubled or in a wrong place", file=sys.stderr)


def told(figures: Figures) -> list[Figure]:
    """The figures in words."""

    def against(key: str, what: str, unit: str) -> list[Figure]:
        return [
            Figure(
                name=f"{what}: {program}",
                unit=unit,
                rounds=figures[f"{name} {key}"],
                floor=figures[f"floor {key}"],
            )
            for name, program in (("fermix", "Fermix"), ("usual", "the usual way"))
        ]

    def alone(key: str, what: str, unit: str, floor: str | None = None, goal: float | None = None) -> Figure:
        least = None if floor is None else figures[f"fermix {floor}"]
        return Figure(name=what, unit=unit, rounds=figures[f"fermix {key}"], floor=least, goal=goal)

    return [
        *against("p50", "one at a time, median", "ms"),
        alone("p99", "… 99th percentile of Fermix (floor: its own median)", "ms", "p50", 3),
        *against("cpu alone", "… processor time a message", "ms"),
        *against("time each", f"{CONVERSATIONS} conversations at once, time a message", "ms"),
        *against("cpu each", "… processor time a message", "ms"),
        *against("ready", "start to the first poll", "ms"),
        *against("idle memory", "memory before the first message", "MiB"),
        *against("used memory", f"memory after {SERIAL} messages", "MiB"),
        alone("memory of many", f"… and what {MANY} conversations more add", "MiB"),
        alone(
            f"after {LONG}",
            f"a message after {LONG} others (floor: after {SHORT})",
            "ms",
            f"after {SHORT}",
            1.5,
        ),
        alone("out of order", f"replies out of order in a burst of {BURST}", ""),
        alone("idle cpu", "processor at rest", "%"),
    ]


async def run(rounds: int) -> None:
    """Measure, and print the table."""
    figures: Figures = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="fermix-path-") as made:
        for number in range(rounds):
            for name in PROGRAMS:
                folder = tempfile.mkdtemp(prefix=f"{name}{number}-", dir=made)
                await measure(name, figures, Path(folder), whole=name == "fermix")
    print(circumstances(rounds=rounds), table(told(figures)), sep="\n\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.message_path", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(run(parser.parse_args().rounds))


if __name__ == "__main__":
    main()

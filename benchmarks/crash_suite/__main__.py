"""Kills the real daemon at every point of a message's life, again and again, while people write.

    python -m benchmarks.crash_suite [--rounds 20] [--seed N] [--point "mid-stream"]

Each round is one home in which the daemon dies once at every point (in an order of chance, each at a random
visit of it); then everything comes to rest and is looked at: nothing lost, nothing twice without a mark, nobody
overtaken, no bell rung twice. That a point was hit is shown by what the process writes down as it dies. The
product knows nothing of this: the daemon is `fermix run` with mortal adapters put into its container.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from fermix.testing.servers.openai_strict.server import strict_server
from tests.e2e.harness.crash_load import POINTS, CrashLoad
from tests.e2e.harness.homes import API_KEY, open_home
from tests.e2e.harness.people import far_side


def live_a_round(seed: int, points: list[str]) -> tuple[Counter[str], Counter[str]]:
    """How messages ended, and how often each point was hit.

    Raises:
        AssertionError: a promise was broken, or a point was not hit.
    """
    chance = Random(seed)
    order = chance.sample(points, len(points))
    with (
        tempfile.TemporaryDirectory() as name,
        strict_server(key=API_KEY) as model,
        far_side() as people,
        open_home(Path(name)) as home,
    ):
        home.use(model.base_url)
        load = CrashLoad(home=home, people=people, model=model, chance=chance, folder=Path(name))
        load.begin()
        for point in order:
            load.die_at(point)
        load.come_to_rest()
        return load.check(), load.hits


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash_suite", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="deaths at each point (%(default)s)")
    parser.add_argument("--seed", type=int, help="of the first round; drawn when left out")
    parser.add_argument(
        "--point", action="append", choices=list(POINTS), help="only this one; may be repeated"
    )
    options = parser.parse_args()
    first = int.from_bytes(os.urandom(4)) if options.seed is None else options.seed
    points = options.point or list(POINTS)
    print(f"first seed {first}, {options.rounds} rounds, {len(points)} points")
    ends, hits, began = Counter[str](), Counter[str](), time.monotonic()
    for number in range(options.rounds):
        try:
            ended, hit = live_a_round(first + number, points)
        except AssertionError as exc:
            print(f"seed {first + number}: {exc}")
            return 1
        ends.update(ended)
        hits.update(hit)
        print(f"round {number + 1} of {options.rounds}, {time.monotonic() - began:.0f} s: {dict(ended)}")
    print(*(f"{count:4}  {point}" for point, count in hits.items()), sep="\n")
    print(f"0 lost of {ends.total() - ends['repeats, all marked']} messages: {dict(ends)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A soak of the real daemon and its file: very many messages, stops, kills, failing providers, and a month.

    python -m benchmarks.soak [--messages 100000] [--conversations 5000] [--later 10000] [--seed N]

Half of the messages meets stops in order and kills; the rest is one life, whose memory and whose file are
measured: memory in the last tenth against the first after warm-up (at most 1.1), database bytes per message in the
last third against the third before. Then the clock jumps 31 days, the sweep runs dry, and further messages must
find their place in the pages that became free.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from random import Random

from benchmarks.measuring.figures import circumstances
from fermix.testing.servers.openai_strict.server import strict_server
from tests.e2e.harness.homes import API_KEY, open_home
from tests.e2e.harness.people import far_side
from tests.e2e.harness.soak import Soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--conversations", type=int, default=5_000)
    parser.add_argument("--later", type=int, default=10_000, help="messages after the sweep (%(default)s)")
    parser.add_argument("--seed", type=int, help="drawn when left out")
    options = parser.parse_args()
    seed = int.from_bytes(os.urandom(4)) if options.seed is None else options.seed
    print(f"seed {seed}; {circumstances(rounds=1)}")
    with (
        tempfile.TemporaryDirectory() as name,
        strict_server(key=API_KEY) as model,
        far_side() as people,
        open_home(Path(name)) as home,
    ):
        home.use(model.base_url)
        report = Soak(
            home=home,
            people=people,
            model=model,
            chance=Random(seed),
            folder=Path(name),
            messages=options.messages,
            conversations=options.conversations,
            later=options.later,
        ).run()
    print(f"{report.seconds:.0f} s; {dict(report.ends)}")
    print(f"memory, last against first: {report.memory:.2f} (at most 1.1)")
    print(f"database: {report.bytes_per_message:.0f} bytes per message, {report.growth:.2f} of before")
    print(f"file after the sweep and {options.later} messages: {report.reused:.2f} of before")
    return int(report.memory > 1.1 or report.growth > 1.1 or report.reused > 1.05)


if __name__ == "__main__":
    sys.exit(main())

"""The gateway beside the dullest model of it, for as many histories as there is time for.

    python -m benchmarks.gateway_machine [--histories 5000] [--steps 80] [--over memory|file|asyncio]

Each history is a random sequence of rules (people write, albums, commands, duplicates; a model answers, fails, has
a bug or takes too long; sends get lost; kills between any two calls of the ledger, and drains), and whatever the
gateway commits, asks and says must be what the model says. A failing history is made small and printed.
"""

import argparse
import logging
import sys
import time

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.unit.application.gateway_machine.machine import GatewayMachine
from tests.unit.application.gateway_machine.test_gateway_machine import OnAsyncio, OverTheFile

MACHINES = {"memory": GatewayMachine, "file": OverTheFile, "asyncio": OnAsyncio}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway_machine", description=__doc__)
    parser.add_argument("--histories", type=int, default=5000, help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=80, help="rules in a history at most (%(default)s)")
    parser.add_argument(
        "--over", choices=list(MACHINES), default="memory", help="ledger or loop (%(default)s)"
    )
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    began = time.perf_counter()
    run_state_machine_as_test(
        MACHINES[options.over],
        settings=settings(
            max_examples=options.histories,
            stateful_step_count=options.steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(
        f"{options.histories} histories over {options.over}, {time.perf_counter() - began:.0f} s, none differs"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Timing single calls: how long most of them take, and how long the slow ones."""

import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Microseconds of one call: the median, and what ninety-nine of a hundred stay under."""

    p50: float
    p99: float


def spread_of(nanoseconds: Sequence[int]) -> Spread:
    """The spread of calls that were timed one by one."""
    return Spread(p50=median(nanoseconds) / 1000, p99=quantiles(nanoseconds, n=100)[98] / 1000)


def timed(calls: Sequence[Callable[[], object]]) -> Spread:
    """Each call by itself, the clock's own cost included; the collector rests meanwhile."""
    clock = time.perf_counter_ns
    taken: list[int] = []
    gc.disable()
    try:
        for call in calls:
            began = clock()
            call()
            taken.append(clock() - began)
    finally:
        gc.enable()
    return spread_of(taken)


async def timed_waiting(calls: Sequence[Callable[[], Awaitable[object]]]) -> tuple[Spread, list[object]]:
    """Each call from its start to its result, one after another, and the results."""
    clock = time.perf_counter_ns
    taken: list[int] = []
    results: list[object] = []
    for call in calls:
        began = clock()
        results.append(await call())
        taken.append(clock() - began)
    return spread_of(taken), results

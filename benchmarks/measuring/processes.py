"""Running a program as a whole process and asking the system what it cost."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_KIB_PER_UNIT = 1 / 1024 if sys.platform == "darwin" else 1.0
"""`ru_maxrss` counts bytes on macOS and KiB elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run cost.

    Attributes:
        began: `time.monotonic()` just before the start.
        wall: milliseconds from start to end.
        cpu: milliseconds of processor time, children included.
        peak: largest memory, MiB; on Linux never less than that of the process that started it.
        status: exit status.
    """

    began: float
    wall: float
    cpu: float
    peak: float
    status: int


def run(arguments: Sequence[str], *, env: Mapping[str, str]) -> Cost:
    """Run a program to its end; what it prints is thrown away."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in (0, 1, 2)]
        began = time.monotonic()
        pid = os.posix_spawn(arguments[0], list(arguments), dict(env), file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        ended = time.monotonic()
    finally:
        os.close(null)
    return Cost(
        began=began,
        wall=(ended - began) * 1000,
        cpu=(usage.ru_utime + usage.ru_stime) * 1000,
        peak=usage.ru_maxrss * _KIB_PER_UNIT / 1024,
        status=os.waitstatus_to_exitcode(status),
    )

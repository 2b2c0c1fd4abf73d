"""How much work a call is, counted in steps of the interpreter: the same on every machine, however busy it is."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """How many lines, calls and returns of Python code a call takes; what is done in C counts as one."""
    taken = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> Any:
        nonlocal taken
        taken += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return taken


def growth(work: Callable[[str], object], piece: str, *, length: int, times: int = 4) -> float:
    """How many times as much work a text of `times` its length is; about `times` where work is proportional."""
    short = piece * max(length // len(piece), 1)
    work(short)  # whatever is made once is made now
    return steps(lambda: work(short * times)) / steps(lambda: work(short))

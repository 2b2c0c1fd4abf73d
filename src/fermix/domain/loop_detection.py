"""Notices when an agent repeats the same call without getting further."""

import json
from dataclasses import dataclass, field
from enum import StrEnum

WARN_AT = 3
KILL_AT = 5


class LoopVerdict(StrEnum):
    """What to do after a call."""

    FINE = "fine"
    WARN = "warn"
    KILL = "kill"


def canonical(name: str, arguments: str) -> str:
    """One text for equal calls, whatever the order of keys or the white space in their arguments."""
    try:
        return f"{name}\n{json.dumps(json.loads(arguments or '{}'), sort_keys=True)}"
    except (ValueError, RecursionError):
        return f"{name}\n{arguments}"


@dataclass(slots=True)
class LoopDetector:
    """Counts equal calls in a row: three draw a warning to the model, five end the turn.

    Only consecutive ones count, since a healthy turn may well come back to a call later.
    """

    _last: str = field(default="")
    _run: int = field(default=0)

    def observe(self, name: str, arguments: str) -> LoopVerdict:
        """Note one call, in the order the model made them."""
        call = canonical(name, arguments)
        self._run = self._run + 1 if call == self._last else 1
        self._last = call
        if self._run >= KILL_AT:
            return LoopVerdict.KILL
        return LoopVerdict.WARN if self._run >= WARN_AT else LoopVerdict.FINE

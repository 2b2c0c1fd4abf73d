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

    Only consecutive ones count, since a healthy turn may well come back to a call later. What fails in the same
    way again counts whatever stands between, until the call succeeds: a model may repeat a whole group of calls.
    """

    _last: str = field(default="")
    _run: int = field(default=0)
    _failures: dict[tuple[str, str], int] = field(default_factory=dict)

    def observe(self, name: str, arguments: str) -> LoopVerdict:
        """Note one call, in the order the model made them."""
        call = canonical(name, arguments)
        self._run = self._run + 1 if call == self._last else 1
        self._last = call
        if self._run >= KILL_AT:
            return LoopVerdict.KILL
        return LoopVerdict.WARN if self._run >= WARN_AT else LoopVerdict.FINE

    def returned(self, name: str, arguments: str, *, error: str | None) -> LoopVerdict:
        """Note what a call came to, `error` being what the model was told when it failed; never warns."""
        call = canonical(name, arguments)
        if error is None:
            for known in [key for key in self._failures if key[0] == call]:
                del self._failures[known]
            return LoopVerdict.FINE
        times = self._failures.get((call, error), 0) + 1
        self._failures[call, error] = times
        return LoopVerdict.KILL if times >= KILL_AT else LoopVerdict.FINE

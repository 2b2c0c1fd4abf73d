"""Which calls Discord would refuse for coming too fast, from what its answers say of it: pure.

Nothing waits here: what would come too fast is told how long to wait, so that nobody waits behind it. Source:
https://discord.com/developers/docs/topics/rate-limits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

MAX_REMEMBERED = 1000
"""Buckets that are remembered before those that are over are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What a call shares its limit with: a method and path, and the channel, guild or webhook it is about."""

    route: str
    about: str


class RateLimits:
    """Keeps what answers have said. All times are seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._buckets: dict[str, str] = {}
        self._until: dict[str, float] = {}
        self._all_until = 0.0

    def wait(self, lane: Lane, *, now: float) -> float:
        """Seconds until such a call may leave; 0 when it may leave now."""
        return max(self._all_until - now, self._until.get(self._key(lane), now) - now, 0.0)

    def note(self, lane: Lane, headers: Mapping[str, str], *, now: float) -> None:
        """Take note of an answer's headers, by names in lower case."""
        bucket = headers.get("x-ratelimit-bucket")
        if bucket:
            if len(self._buckets) >= MAX_REMEMBERED:
                self._buckets.clear()
            self._buckets[lane.route] = bucket
        if headers.get("x-ratelimit-remaining") == "0":
            self._hold(lane, _number(headers.get("x-ratelimit-reset-after")), now)

    def refused(self, lane: Lane, seconds: float, *, is_global: bool, now: float) -> None:
        """A call was refused for coming too fast."""
        if is_global:
            self._all_until = max(self._all_until, now + seconds)
        else:
            self._hold(lane, seconds, now)

    def _hold(self, lane: Lane, seconds: float, now: float) -> None:
        if len(self._until) >= MAX_REMEMBERED:
            self._until = {key: until for key, until in self._until.items() if until > now}
        if len(self._until) < MAX_REMEMBERED:
            self._until[self._key(lane)] = now + seconds

    def _key(self, lane: Lane) -> str:
        return f"{self._buckets.get(lane.route, lane.route)} {lane.about}"


def _number(text: str | None) -> float:
    try:
        number = float(text or 0)
    except ValueError:
        return 0.0
    return max(number, 0.0) if math.isfinite(number) else 0.0

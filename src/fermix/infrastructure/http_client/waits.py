"""How long a server asks to wait."""

import math

LONGEST_WAIT_SECONDS = 24 * 3600
"""A longer wait is none that anybody means."""


def named_wait(value: object) -> float | None:
    """Seconds as a header or a field of JSON names them, between none and a day; `None` where it names none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (OverflowError, ValueError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS) if math.isfinite(seconds) else None

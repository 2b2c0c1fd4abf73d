"""Reading the arguments a model wrote for a call."""

import json
import math
from typing import NoReturn, cast


class BadArguments(Exception):
    """They are no JSON object; the text is a sentence for the model."""


def read_arguments(text: str) -> dict[str, object]:
    """The arguments of a call; blank ones count as none.

    Stricter than Python's own reader: `NaN` and its like are no JSON, and many another reader refuses numbers that
    no double holds and escaped halves of a surrogate pair. A provider would refuse to read them again.

    Raises:
        BadArguments: the text is no JSON object.
    """
    try:
        value: object = json.loads(text.strip() or "{}", parse_constant=_refuse, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as exc:
        raise BadArguments(f"The arguments are not valid JSON ({exc}): {text[:200]!r}.") from exc
    if not isinstance(value, dict):
        raise BadArguments("The arguments must be a JSON object.")
    return cast("dict[str, object]", value)


def kept_arguments(text: str) -> str:
    """The text as it is kept in the history: what is no JSON object would poison every later request."""
    try:
        read_arguments(text)
    except BadArguments:
        return "{}"
    return text.strip() or "{}"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number

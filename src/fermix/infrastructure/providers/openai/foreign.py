"""Reading JSON that others wrote: a wrong type counts as missing."""

import json
import math
from typing import TypeAlias, cast

JsonObject: TypeAlias = dict[str, object]


def parsed(text: str) -> object:
    """The value of a JSON text, or `None` when it is not JSON (or nested beyond reason).

    Numbers that are none (some servers write `NaN`) and those that no double holds count as null: what is kept of
    an answer goes back to its server, and must be readable there.
    """
    try:
        return cast("object", json.loads(text, parse_constant=_no_number, parse_float=_finite))
    except (ValueError, RecursionError):
        return None


def _no_number(_name: str) -> None:
    return None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def as_object(value: object) -> JsonObject:
    """`value` if it is a JSON object, else an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """`value` if it is a JSON array, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """`value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """`value` if it is a whole number from zero up, else zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def as_index(value: object) -> int | None:
    """`value` if it is a whole number, else `None`."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def well_formed(text: str) -> str:
    """`text` as UTF-8 can carry it: half surrogate pairs become the replacement character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

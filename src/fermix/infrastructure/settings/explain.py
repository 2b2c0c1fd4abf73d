"""Turning what pydantic says about a value into words for the person who wrote it, without the value."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from fermix.infrastructure.settings.keys import KeyFinding
from fermix.infrastructure.settings.nearest import nearest_name
from fermix.infrastructure.settings.problems import KeyPath
from fermix.infrastructure.settings.section import REFUSED

_TEXTS = {
    "assertion_error": "is not valid",
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "extra_forbidden": "is not a known key",
    "finite_number": "must be an ordinary number",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "mapping_type": "must be a table",
    "missing": "is required",
    "model_type": "must be a table",
    "is_instance_of": "must be a table",
    "path_type": "must be a path in quotes",
    "string_pattern_mismatch": "does not have the right form",
    "string_type": "must be a text in quotes",
    # The words of a validator from another package may repeat the value; ours raise `refused`.
    "value_error": "is not valid",
}
_BOUNDS = {
    "greater_than": ("gt", "must be greater than {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be less than {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "string_too_long": ("max_length", "must not be longer than {} characters"),
}
_QUOTED = re.compile(r"'([^']*)'")


def findings_of(
    error: ValidationError, *, prefix: KeyPath = (), tables: Iterable[Mapping[str, Any]]
) -> list[KeyFinding]:
    """One finding for each value that pydantic refused.

    Args:
        error: what was raised.
        prefix: where in the file the validated table stands.
        tables: what was validated, strongest first; looked at only to find the nearest allowed word, never shown.
    """
    layers = tuple(tables)
    return [
        _finding(details["type"], details["msg"], details.get("ctx", {}), (*prefix, *details["loc"]), layers)
        for details in error.errors(include_url=False, include_input=False)
    ]


def _finding(
    kind: str, message: str, context: Mapping[str, Any], path: KeyPath, tables: tuple[Mapping[str, Any], ...]
) -> KeyFinding:
    if kind in _BOUNDS:
        name, text = _BOUNDS[kind]
        return KeyFinding(path=path, text=text.format(context[name]))
    if kind == "literal_error":
        allowed = _QUOTED.findall(context["expected"])
        value = next((found for table in tables if (found := _at(table, path)) is not None), None)
        near = nearest_name(value, allowed) if isinstance(value, str) and len(value) <= 40 else None
        words = ", ".join(f'"{word}"' for word in allowed)
        one_of = "one of " if len(allowed) > 1 else ""
        return KeyFinding(path=path, text=f"must be {one_of}{words}", suggestion=near)
    if kind == REFUSED:
        return KeyFinding(path=path, text=message)
    return KeyFinding(path=path, text=_TEXTS.get(kind, message.replace("Input should be", "must be")))


def _at(table: Mapping[str, Any], path: KeyPath) -> Any:
    value: Any = table
    for part in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value

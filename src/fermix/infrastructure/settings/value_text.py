"""A value as it is typed on a command line, read by what its key takes, and written the way TOML has it."""

import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import SecretStr

from fermix.infrastructure.settings.key_names import NamePath, ValueKind, is_utf_8

_BARE = re.compile(r"[A-Za-z0-9_-]+")

MASK = "********"
"""Stands where a secret is."""

_WANTED = {
    ValueKind.SWITCH: "must be true or false",
    ValueKind.WHOLE: "must be a whole number",
    ValueKind.NUMBER: "must be a number",
    ValueKind.LIST: 'must be a list as TOML writes it, such as ["a", "b"]',
    ValueKind.SECRETS: 'must be a table as TOML writes it, such as { NAME = "value" }',
    ValueKind.SECTION: "is a table; set one of its keys",
}


class UnreadableValue(Exception):
    """The text is no value of that kind; the message says what is, without the text."""


def read_value(kind: ValueKind, text: str) -> Any:
    """The value that the text means.

    Text and secrets are taken as they are, without quotes; everything else is TOML.

    Raises:
        UnreadableValue: it means none.
    """
    if not is_utf_8(text):
        raise UnreadableValue("must be UTF-8 text, as TOML is")
    if kind in {ValueKind.TEXT, ValueKind.SECRET}:
        return text
    value = _toml_value(text)
    if not _fits(kind, value):
        raise UnreadableValue(_WANTED[kind])
    return value


def _toml_value(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return None
    return table["value"] if len(table) == 1 else None


def _fits(kind: ValueKind, value: Any) -> bool:
    match kind:
        case ValueKind.SWITCH:
            return isinstance(value, bool)
        case ValueKind.WHOLE:
            return isinstance(value, int) and not isinstance(value, bool)
        case ValueKind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case ValueKind.LIST:
            return isinstance(value, list)
        case ValueKind.SECRETS:
            return isinstance(value, dict)
        case _:
            return False


def plain(value: object, *, reveal: bool = False) -> Any:
    """A value of the settings as JSON and TOML know it; secrets as `MASK` unless they are to be revealed."""
    match value:
        case SecretStr():
            return value.get_secret_value() if reveal else MASK
        case Path():
            return str(value)
        case Mapping():
            return {str(name): plain(inner, reveal=reveal) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner, reveal=reveal) for inner in value]
        case _:
            return value


def key_text(path: NamePath) -> str:
    """A dotted key, exact for every name there can be."""
    return ".".join(name if _BARE.fullmatch(name) else tomlkit.string(name).as_string() for name in path)


def toml_text(value: object) -> str:
    """A plain value on one line of TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return tomlkit.string(value).as_string()
        case list():
            return f"[{', '.join(map(toml_text, value))}]"
        case dict():
            inner = ", ".join(f"{key_text((name,))} = {toml_text(each)}" for name, each in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            return repr(value)

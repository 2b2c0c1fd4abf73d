"""Reading `config.toml`: a missing file is an empty one, anything else that is not sound TOML is an error."""

import codecs
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fermix.infrastructure.settings.positions import key_lines
from fermix.infrastructure.settings.problems import ConfigError, KeyPath, Problem

MAX_BYTES = 1024 * 1024
"""No hand-written configuration comes near it; a wrong path (`/dev/zero`, a database) does."""

_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file as it was found; `repr` shows neither values nor keys.

    Attributes:
        path: where it was looked for.
        exists: whether it was there.
        table: what it says, as `tomllib` gives it.
        lines: the line of each key.
    """

    path: Path
    exists: bool
    table: Mapping[str, Any] = field(repr=False)
    lines: Mapping[KeyPath, int] = field(repr=False)


def read_config_file(path: Path) -> ConfigFile:
    """Read and parse.

    Raises:
        ConfigError: the file is there and cannot be read, or is not UTF-8, or not TOML.
    """
    found = _read(path)
    if found is None:
        return ConfigFile(path=path, exists=False, table={}, lines={})
    text = _decode(found, path)
    failure: Problem
    try:
        table = tomllib.loads(text)
        return ConfigFile(path=path, exists=True, table=table, lines=key_lines(text))
    except ValueError as exc:
        failure = _syntax_problem(exc, text, path)
    except RecursionError:
        failure = Problem(source=str(path), text="is nested too deeply")
    raise ConfigError([failure])


def _read(path: Path) -> bytes | None:
    reason: str
    try:
        return _read_regular(path)
    except FileNotFoundError:
        if not path.is_symlink():
            return None
        reason = "is a link to a file that does not exist"
    except NotADirectoryError:
        reason = f"cannot be read: {path.parent} is not a folder"
    except OSError as exc:
        reason = f"cannot be read: {(exc.strerror or 'unknown error').lower()}"
    raise ConfigError([Problem(source=str(path), text=reason)])


def _read_regular(path: Path) -> bytes:
    # Without waiting: opening a pipe would block until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            reason = "is a folder, not a file" if stat.S_ISDIR(mode) else "is not a regular file"
            raise ConfigError([Problem(source=str(path), text=reason)])
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise ConfigError([Problem(source=str(path), text=f"is larger than {MAX_BYTES // 1024} KiB")])
    return content


def _decode(content: bytes, path: Path) -> str:
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = "begins with a byte order mark; save it as plain UTF-8"
        raise ConfigError([Problem(source=str(path), line=1, text=text)])
    line: int
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
    raise ConfigError([Problem(source=str(path), line=line, text="holds a byte that is not UTF-8")])


def _syntax_problem(error: ValueError, text: str, path: Path) -> Problem:
    place = _PLACE.search(str(error))
    if place is None:
        # Python's own limit on the digits of a number; its message has no place and may repeat the number.
        return Problem(source=str(path), text="holds a number that is too long")
    reason = str(error)[: place.start()]
    if place["line"] is None:
        return Problem(
            source=str(path), line=text.count("\n") + 1, text=f"is not valid TOML: {reason} at its end"
        )
    hint = ""
    line = int(place["line"])
    if "\\" in text.splitlines()[line - 1]:
        hint = "; in double quotes a backslash is written twice, in single quotes once"
    return Problem(
        source=str(path), line=line, text=f"is not valid TOML: {reason} (column {place['column']}){hint}"
    )

"""One change to the text of a TOML document, with everything else left as its owner wrote it.

The library that edits is not the one that reads, so each result is read back and must mean the old document with
exactly that change; what does not is refused, and the owner edits by hand.
"""

import copy
import re
import tomllib
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable

from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.problems import dotted
from fermix.infrastructure.settings.value_text import key_text, toml_text

_LONE_LINE_END = re.compile(r"(?<!\r)\n")


class EditRefused(Exception):
    """The document cannot be changed so without touching something else; nothing was changed."""


def with_value(text: str, path: NamePath, value: Any) -> str:
    """The document with the key set.

    A key that is there keeps its place and the comment behind it; a new one goes to the end of its table, and a
    new table to the end of the document.

    Args:
        text: valid TOML.
        path: of the key.
        value: plain; no tables in lists.

    Raises:
        EditRefused: a part of the path is no table, or the document is built in a way that cannot be kept.
    """
    wanted = tomllib.loads(text)
    _put(wanted, path, value)
    return _with_line_ends_of(text, _first_that_means(wanted, _ways_to_set(text, path, value), path))


def without_key(text: str, path: NamePath) -> str:
    """The document without the key; the same text when it is not there.

    Raises:
        EditRefused: it is a table, which may hold comments about its keys and about what follows; or the document
            is built in a way that cannot be kept.
    """
    wanted = tomllib.loads(text)
    table = _inner(wanted, path[:-1])
    if table is None or path[-1] not in table:
        return text
    if isinstance(table[path[-1]], dict):
        raise EditRefused(f"{dotted(path)} is a table; remove its keys one by one, or edit the file by hand")
    del table[path[-1]]
    return _first_that_means(wanted, iter([lambda: _removed(text, path)]), path)


def _ways_to_set(text: str, path: NamePath, value: Any) -> Iterator[Callable[[], str]]:
    def in_its_table() -> str:
        document = _document(text)
        table = _inner(document, path[:-1])
        if table is None:
            raise EditRefused
        table[path[-1]] = tomlkit.value(toml_text(value))
        return document.as_string()

    def in_a_new_table() -> str:
        gap = "\n" if text.strip() else ""
        return f"{_ended(text)}{gap}[{key_text(path[:-1])}]\n{key_text(path[-1:])} = {toml_text(value)}\n"

    def in_new_tables_inside() -> str:
        document = _document(text)
        table: Any = document
        for name in path[:-1]:
            if name not in table:
                table[name] = tomlkit.inline_table() if isinstance(table, InlineTable) else tomlkit.table()
            table = table[name]
        table[path[-1]] = tomlkit.value(toml_text(value))
        return document.as_string()

    if len(path) > 1 and not _has_header(text, path[:-1]):
        yield in_a_new_table
    yield lambda: _above_the_last_comments(_ended(text), in_its_table())
    yield in_its_table
    yield in_new_tables_inside


def _above_the_last_comments(text: str, edited: str) -> str:
    """Move an added line up: the comments at a table's end mostly speak of the next one."""
    old, new = text.split("\n"), edited.split("\n")
    if len(new) != len(old) + 1:
        return edited
    added = next(at for at, line in enumerate(new) if at == len(old) or line != old[at])
    if new[:added] + new[added + 1 :] != old:
        return edited  # a value was replaced by a longer one
    place = added
    while place and (not new[place - 1].strip() or new[place - 1].lstrip().startswith("#")):
        place -= 1
    return "\n".join([*new[:place], new[added], *new[place:added], *new[added + 1 :]])


def _first_that_means(wanted: Any, ways: Iterator[Callable[[], str]], path: NamePath) -> str:
    for way in ways:
        try:
            edited = way()
            # A table that dotted keys alone made goes with the last of them.
            if _without_empty_tables(tomllib.loads(edited)) == _without_empty_tables(wanted):
                return edited
        except (EditRefused, TOMLKitError, tomllib.TOMLDecodeError):
            continue
    raise EditRefused(
        f"{dotted(path)} cannot be changed there without disturbing the rest; edit the file by hand"
    )


def _without_empty_tables(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kept = {name: _without_empty_tables(inner) for name, inner in value.items()}
    return {name: inner for name, inner in kept.items() if inner != {}}


def _removed(text: str, path: NamePath) -> str:
    document = _document(text)
    table = _inner(document, path[:-1])
    if table is None:
        raise EditRefused
    del table[path[-1]]
    return document.as_string()


def _with_line_ends_of(text: str, edited: str) -> str:
    is_windows = "\r\n" in text and not _LONE_LINE_END.search(text)
    return _LONE_LINE_END.sub("\r\n", edited) if is_windows else edited


def _document(text: str) -> tomlkit.TOMLDocument:
    return tomlkit.parse(_ended(text))


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _has_header(text: str, table: NamePath) -> bool:
    """Whether a header of its own, or a value, says that the table is there already."""
    found = _inner(_document(text), table)
    return found is not None and not getattr(found, "is_super_table", lambda: False)()


def _inner(table: Any, path: NamePath) -> MutableMapping[str, Any] | None:
    for name in path:
        if not isinstance(table, MutableMapping) or name not in table:
            return None
        table = table[name]
    return table if isinstance(table, MutableMapping) and not isinstance(table, AoT) else None


def _put(table: Any, path: NamePath, value: Any) -> None:
    for end, name in enumerate(path[:-1], start=1):
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise EditRefused(f"{dotted(path[:end])} is a value, so it can have no keys")
    table[path[-1]] = copy.deepcopy(value)

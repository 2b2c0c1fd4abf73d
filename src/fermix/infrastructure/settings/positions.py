r"""On which line each key of a TOML document stands.

`tomllib` gives values without positions, and a second TOML library only for line numbers would be one more
opinion on what a document means. So `tomllib` decides whether a document is valid and what it says, and this
scanner, which only ever sees documents that `tomllib` has accepted, finds the keys in it: it has to know where
keys, strings, arrays and inline tables begin and end, and nothing about values. A test draws documents at random
and compares the two.
"""

import re
import tomllib

from fermix.infrastructure.settings.problems import KeyPath

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*'""")
_STRING = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?"{3,5}(?!")'
    r"|'''[\s\S]*?'{3,5}(?!')"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def key_lines(document: str) -> dict[KeyPath, int]:
    """Map every key path of a valid document to the line of the key that made it, counted from 1.

    A table is found at its first header, or at the first dotted key or sub-table that implies it; an element of an
    array at its own first line.

    Args:
        document: text that `tomllib` accepts; Windows line ends are allowed.
    """
    return _Scanner(document.replace("\r\n", "\n")).scan()


class _Scanner:
    """One pass over one document; `_at` is where it is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted_to = 0
        self._line = 1
        self._lines: dict[KeyPath, int] = {}
        self._elements: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self._lines

    def _header(self) -> KeyPath:
        line = self._line_here()
        repeated = self._text.startswith("[[", self._at)
        self._at += 2 if repeated else 1
        *above, last = self._key()
        self._at += 2 if repeated else 1
        path = self._below((), tuple(above), line)
        if not repeated:
            return self._below(path, (last,), line)
        array = (*path, last)
        self._lines.setdefault(array, line)
        self._elements[array] = self._elements.get(array, -1) + 1
        element = (*array, self._elements[array])
        self._lines.setdefault(element, line)
        return element

    def _below(self, table: KeyPath, parts: tuple[str, ...], line: int) -> KeyPath:
        """Go down from a table, into the newest element wherever an array of tables is passed."""
        path = table
        for part in parts:
            path = (*path, part)
            self._lines.setdefault(path, line)
            if path in self._elements:
                path = (*path, self._elements[path])
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._line_here()
        parts = self._key()
        self._at += 1
        self._skip(_SPACE)
        path = table
        for part in parts:
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._value(path)

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            parts.append(_plain(self._take(_KEY_PART)))
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return tuple(parts)
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        if self._text.startswith("[", self._at):
            self._array(path)
        elif self._text.startswith("{", self._at):
            self._inline_table(path)
        else:
            self._take(_STRING if self._text[self._at] in "\"'" else _SCALAR)

    def _array(self, path: KeyPath) -> None:
        index = 0
        while self._enter("]"):
            self._lines[*path, index] = self._line_here()
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: KeyPath) -> None:
        while self._enter("}"):
            self._pair(path)

    def _enter(self, end: str) -> bool:
        """Step over an opening bracket or a comma; `False`, and past the end, when nothing more follows."""
        self._skip(_BLANK)
        if self._text[self._at] in "[{,":
            self._at += 1
            self._skip(_BLANK)
        if self._text[self._at] == end:
            self._at += 1
            return False
        return True

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        return self._line

    def _skip(self, what: re.Pattern[str]) -> None:
        found = what.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _take(self, what: re.Pattern[str]) -> str:
        found = what.match(self._text, self._at)
        if found is None:
            raise ValueError(f"not a TOML document at offset {self._at}")
        self._at = found.end()
        return found.group()


def _plain(part: str) -> str:
    if part[0] not in "\"'":
        return part
    value: str = tomllib.loads(f"key = {part}")["key"]
    return value

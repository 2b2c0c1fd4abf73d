"""Changing a list of texts in a TOML document item by item, so that the comments between the others stay."""

import tomllib
from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array

from fermix.infrastructure.settings.document_edit import with_value
from fermix.infrastructure.settings.key_names import NamePath
from fermix.infrastructure.settings.value_text import toml_text


def with_items(text: str, path: NamePath, items: Sequence[str]) -> str:
    """The document with a list that has these items.

    Items that stay keep their line and the comment behind it; new ones go to the end. Where the document does not
    allow that, the list is written anew, as any other value.

    Args:
        text: valid TOML.
        path: of the list, which need not be there.

    Raises:
        EditRefused: the document cannot be changed so without touching something else.
    """
    anew = with_value(text, path, list(items))
    try:
        gently = _item_by_item(text, path, items)
        if gently is not None and tomllib.loads(gently) == tomllib.loads(anew):
            return gently
    except (TOMLKitError, tomllib.TOMLDecodeError, ValueError):
        pass
    return anew


def _item_by_item(text: str, path: NamePath, items: Sequence[str]) -> str | None:
    document: Any = tomlkit.parse(text)
    found: Any = document
    for name in path:
        if name not in found:
            return None
        found = found[name]
    if not isinstance(found, Array):
        return None
    present = [str(item) for item in found]
    for at in reversed(range(len(present))):
        if present[at] not in items:
            del found[at]
    for item in items:
        if item not in present:
            found.append(tomlkit.value(toml_text(item)))
    return str(document.as_string())

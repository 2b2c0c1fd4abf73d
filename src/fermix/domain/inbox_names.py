"""Names of our own for files that people send: nothing of a name from outside reaches the disk unchanged."""

import unicodedata

MAX_STEM = 50
"""Characters; of four bytes each they still leave room for the rest of what a file system takes."""

_MAX_ENDING = 8
_DIGEST_SHOWN = 12


def inbox_name(name: str | None, *, digest: str, extension: str | None) -> str:
    """A file name that tells people what it is and is the same for the same file.

    It is one component, of letters, digits, `-` and `_`, with at most one dot before its ending, and begins
    with neither a dot nor a hyphen.

    Args:
        name: as its sender calls it.
        digest: of its content; makes different files of one name differ.
        extension: what its content ends with, where the name has no ending.
    """
    last = unicodedata.normalize("NFC", name or "").replace("\\", "/").rpartition("/")[2]
    stem, _, ending = last.rpartition(".")
    if not stem or not (ending.isascii() and ending.isalnum() and len(ending) <= _MAX_ENDING):
        stem, ending = last, extension or ""
    plain = "".join(
        character if character.isalnum() else "_" if character != "-" else "-" for character in stem
    )
    short = "_".join(part for part in plain[:MAX_STEM].split("_") if part).strip("-_") or "file"
    ended = f".{ending.lower()}" if ending else ""
    return f"{short}-{digest[:_DIGEST_SHOWN]}{ended}"

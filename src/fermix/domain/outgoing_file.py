"""What a file is called and taken for when the agent sends it. Pure."""

import mimetypes
import re
import unicodedata

from fermix.domain.delivery import MediaKind
from fermix.domain.incoming_media import is_text
from fermix.domain.sniffing import mime_type_of

MAX_NAME_BYTES = 200
"""What every file system of a receiver can hold, with room for what their programs add."""

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")

_CONTAINERS = frozenset({None, "application/gzip", "application/ogg", "application/zip"})
"""What holds files of many formats: a name or the sender knows better which one it is."""

_GROUPS = {
    MediaKind.IMAGE: ("image/",),
    MediaKind.AUDIO: ("audio/", "application/ogg"),
    MediaKind.VOICE: ("audio/", "application/ogg"),
    MediaKind.VIDEO: ("video/",),
}

_NEWER_NAMES = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".md": "text/markdown",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""What older Pythons do not know; https://www.iana.org/assignments/media-types."""


def _names() -> mimetypes.MimeTypes:
    """Without the tables of the machine, which differ from one to the next."""
    names = mimetypes.MimeTypes(filenames=())
    for ending, mime_type in _NEWER_NAMES.items():
        names.add_type(mime_type, ending)
    return names


_NAMES = _names()


def shown_name(name: str) -> str:
    """A name as people may see it: no path, nothing invisible, not too long, and never empty."""
    base = re.split(r"[/\\]", name)[-1]
    visible = "".join(" " if char.isspace() else char for char in base if char.isspace() or _is_visible(char))
    stem, dot, ending = " ".join(visible.split()).strip(". ").rpartition(".")
    if not dot or len(ending.encode()) > MAX_NAME_BYTES // 4:
        stem, dot, ending = f"{stem}{dot}{ending}", "", ""
    room = MAX_NAME_BYTES - len(f"{dot}{ending}".encode())
    return (stem.encode()[:room].decode(errors="ignore").rstrip() + dot + ending) or "file"


def stated_type(text: str) -> str | None:
    """A media type as somebody wrote it, without parameters; `None` when it is none."""
    found = text.partition(";")[0].strip().lower()
    return found if _TYPE.fullmatch(found) else None


def type_to_send(head: bytes, *, name: str, stated: str | None) -> str:
    """The media type that a file is sent with: what its content says, then its sender, then its name.

    Args:
        head: its first bytes, `incoming_media.HEAD_BYTES` or more.
        name: what it is called.
        stated: the type that its sender named.
    """
    found = mime_type_of(head)
    if found is not None and found not in _CONTAINERS:
        return found
    by_name, encoding = _NAMES.guess_type(name)
    claimed = _believed(stated, head) or (_believed(by_name, head) if encoding is None else None)
    return claimed or found or ("text/plain" if is_text(head) else "application/octet-stream")


def shows_as(kind: MediaKind, mime_type: str) -> bool:
    """Whether a platform could show a file of this type as `kind`; as a document it shows every file."""
    return kind is MediaKind.DOCUMENT or mime_type.startswith(_GROUPS[kind])


def _believed(claimed: str | None, head: bytes) -> str | None:
    """A claimed type, unless text claims to be sound or a picture; one kind of picture is written as text."""
    if claimed is None or claimed == "image/svg+xml":
        return claimed
    return None if claimed.startswith(("image/", "audio/", "video/")) and is_text(head) else claimed


def _is_visible(char: str) -> bool:
    return not unicodedata.category(char).startswith("C")

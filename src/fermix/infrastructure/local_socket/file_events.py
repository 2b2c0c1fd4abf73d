"""A file on its way to a terminal, as the client sees it: told, then its bytes. Readable without the domain."""

import binascii
from typing import NamedTuple, TypeAlias

from fermix.infrastructure.local_socket.fields import Fields, Malformed


class FileBegun(NamedTuple):
    """A file comes; as many bytes as `size` says follow in pieces, with nothing of another file between them.

    Attributes:
        kind: as what it is shown: a word of the domain's `MediaKind`.
        name: what it is called, untrusted.
        caption: words that belong to it; may be empty.
    """

    kind: str
    name: str
    mime: str
    size: int
    caption: str


class FilePiece(NamedTuple):
    """The next bytes of the file that has begun."""

    data: bytes


class FileBroken(NamedTuple):
    """No more of the file comes; the message is one sentence for a person."""

    message: str


FileEvent: TypeAlias = FileBegun | FilePiece | FileBroken


def decode_file_event(fields: Fields) -> FileEvent:
    """An event of one of the kinds `file`, `file_piece` and `file_broken`.

    Raises:
        Malformed: a field is missing or of another type, or the bytes are no base64.
    """
    match fields.text("type"):
        case "file":
            return FileBegun(
                kind=fields.text("kind"),
                name=fields.text("name"),
                mime=fields.text("mime"),
                size=fields.whole("size"),
                caption=fields.text("caption"),
            )
        case "file_piece":
            return FilePiece(decode_bytes(fields, "data"))
        case _:
            return FileBroken(fields.text("message"))


def encode_bytes(data: bytes) -> str:
    """Bytes as a field's text."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def decode_bytes(fields: Fields, name: str) -> bytes:
    """A field's bytes.

    Raises:
        Malformed: it is no text, or no base64.
    """
    try:
        return binascii.a2b_base64(fields.text(name), strict_mode=True)
    except ValueError:
        raise Malformed(f"The `{name}` is not base64.") from None

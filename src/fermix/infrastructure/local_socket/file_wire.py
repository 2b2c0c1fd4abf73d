"""Files as the JSON of the control socket: what comes with a question, and what goes to its asker. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fermix.domain.delivery import MediaPart
from fermix.infrastructure.local_socket.fields import Fields, Malformed
from fermix.infrastructure.local_socket.file_events import decode_bytes, encode_bytes

MAX_FILE_NAME_CHARACTERS = 255


class Attach(NamedTuple):
    """A file comes in pieces; `size` is its sender's word for how many bytes that will be."""

    name: str
    size: int


class Piece(NamedTuple):
    """The next bytes of the file that the request `of` began; `last` when there are no more."""

    of: str
    data: bytes
    last: bool


def decode_attach(params: Mapping[str, Any]) -> Attach:
    """The parameters of an `attach`.

    Raises:
        Malformed: a field is missing, of another type, or out of its bounds.
    """
    fields = Fields(params, "attach")
    size = fields.whole("size")
    if size < 0:
        raise Malformed("The attach's `size` must not be negative.")
    return Attach(name=fields.text("name", max_characters=MAX_FILE_NAME_CHARACTERS), size=size)


def decode_piece(params: Mapping[str, Any]) -> Piece:
    """The parameters of a `piece`.

    Raises:
        Malformed: a field is missing or of another type, or the bytes are no base64.
    """
    fields = Fields(params, "piece")
    return Piece(of=fields.text("of"), data=decode_bytes(fields, "data"), last=fields.flag("last"))


def encode_file(part: MediaPart) -> dict[str, Any]:
    """The event that a file comes."""
    return {
        "type": "file",
        "kind": part.kind.value,
        "name": part.file_name,
        "mime": part.mime_type,
        "size": part.blob.size_bytes,
        "caption": part.caption,
    }


def encode_file_piece(data: bytes) -> dict[str, Any]:
    """The event with the next bytes of a file."""
    return {"type": "file_piece", "data": encode_bytes(data)}


def encode_file_broken(message: str) -> dict[str, Any]:
    """The event that no more of a file comes."""
    return {"type": "file_broken", "message": message}

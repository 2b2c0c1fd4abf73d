"""Small pictures for tests, made without any library."""

import hashlib
import struct
import zlib

from fermix.domain.blob import BlobRef
from fermix.domain.picture import Picture

_SIDE = 8


def png(red: int, green: int, blue: int) -> bytes:
    """A PNG of eight by eight pixels of one colour; colours are 0 to 255."""
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    lines = (b"\x00" + bytes((red, green, blue)) * _SIDE) * _SIDE
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def as_picture(content: bytes) -> Picture:
    """What `png` made, as a conversation holds it once it is stored."""
    blob = BlobRef(digest=hashlib.sha256(content).hexdigest(), size_bytes=len(content))
    return Picture(content=blob, mime_type="image/png", width=_SIDE, height=_SIDE)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

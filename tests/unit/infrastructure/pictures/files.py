"""Picture files of every kind, made for the occasion."""

import io
import struct
import zlib

from PIL import Image

LEFT, RIGHT = (220, 20, 20), (20, 20, 220)
ORIENTATION, GPS = 0x0112, 0x8825
ORIENTATIONS = range(1, 9)

SEEN = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
"""What a camera that is held so does to the scene; the opposite of what makes it upright again."""


def scene(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Red in the upper left quarter, blue elsewhere: shows which way is up, and mirroring."""
    image = Image.new("RGB", (width, height), RIGHT)
    image.paste(LEFT, (0, 0, (width + 1) // 2, (height + 1) // 2))
    return image.convert(mode)


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def photographed(image: Image.Image, orientation: int, form: str = "JPEG") -> bytes:
    """The scene as a camera stores it, with where that was."""
    stored = image if orientation == 1 else image.transpose(SEEN[orientation])
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    exif.get_ifd(GPS).update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)})
    return saved(stored, form, exif=exif, **({"quality": 95} if form == "JPEG" else {}))


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """What compresses badly, and is the same each time."""
    bands = len(mode)
    size = width * height * bands
    block = bytes((index * 7919 + (index >> 3) * 104729 + (index >> 7) * 31) % 251 for index in range(65_521))
    return Image.frombytes(mode, (width, height), (block * (size // len(block) + 1))[:size])


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def bomb(width: int, height: int) -> bytes:
    """A PNG of one colour: tiny, and huge once it is decoded."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    packer = zlib.compressobj(9)
    line = bytes(1 + (width + 7) // 8)
    lines = b"".join(packer.compress(line) for _ in range(height)) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


def grey_16_bit(value: int) -> bytes:
    """A PNG of sixteen bits of grey."""
    header = struct.pack(">IIBBBBB", 8, 8, 16, 0, 0, 0, 0)
    lines = zlib.compress((b"\x00" + struct.pack(">H", value) * 8) * 8)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


HEIC = b"\x00\x00\x00\x24ftypheic\x00\x00\x00\x00mif1heic" + bytes(64)

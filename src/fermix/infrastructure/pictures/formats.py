"""Which picture a file is, by its first bytes: its name and what was said about it do not count."""

from enum import StrEnum

from fermix.application.ports.pictures import UnreadablePicture

HEAD = 64
"""As many first bytes tell all formats apart."""


class Format(StrEnum):
    """What is read here, by the names that Pillow has for it."""

    JPEG = "JPEG"
    PNG = "PNG"
    GIF = "GIF"
    WEBP = "WEBP"
    BMP = "BMP"
    TIFF = "TIFF"


_BEGINNINGS = (
    (b"\xff\xd8\xff", Format.JPEG),
    (b"\x89PNG\r\n\x1a\n", Format.PNG),
    (b"GIF87a", Format.GIF),
    (b"GIF89a", Format.GIF),
    (b"II*\x00", Format.TIFF),
    (b"MM\x00*", Format.TIFF),
)
_STRANGERS = (
    (b"%PDF", "a PDF document"),
    (b"\xff\x0a", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"),
    (b"<svg", "an SVG drawing"),
    (b"<?xml", "an XML document"),
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
)
_HEIC = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_AVIF = frozenset({b"avif", b"avis"})


def recognise(head: bytes) -> Format:
    """The format of a file.

    Args:
        head: its first `HEAD` bytes or more, or all of them.

    Raises:
        UnreadablePicture: it is none of those that are read here; the reason names it where it is known.
    """
    for beginning, known in _BEGINNINGS:
        if head.startswith(beginning):
            return known
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return Format.WEBP
    if head[:2] == b"BM" and head[6:10] == bytes(4):
        return Format.BMP
    raise UnreadablePicture(f"the file is {_stranger(head)}; JPEG, PNG, GIF and WebP can be read")


def _stranger(head: bytes) -> str:
    if not head:
        return "empty"
    if head[4:8] == b"ftyp":
        return _boxed(head)
    words = head.lstrip().lower()
    for beginning, name in _STRANGERS:
        if head.startswith(beginning) or words.startswith(beginning):
            return name
    return "no picture of a known format"


def _boxed(head: bytes) -> str:
    """What a file in ISO's container holds: its brand may say little, those it is compatible with say the rest."""
    brands = {head[start : start + 4] for start in (8, *range(16, HEAD - 3, 4))}
    if brands & _AVIF:
        return "an AVIF picture"
    return "a HEIC picture" if brands & _HEIC else "a video"

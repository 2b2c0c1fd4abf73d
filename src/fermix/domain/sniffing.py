"""What a file is, by its first bytes: names and declared types come from outside and prove nothing. Pure."""

from fermix.domain.message import AttachmentKind

HEAD_BYTES = 64
"""How much of a file `mime_type_of` wants to see; with less it only knows less."""

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"#!AMR", "audio/amr"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
"""Formats that are known by how they begin."""

_RIFF = {b"WAVE": "audio/wav", b"WEBP": "image/webp", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"heim": "image/heic",
    b"heis": "image/heic",
    b"hevc": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
    b"qt  ": "video/quicktime",
}
"""Major brands of the ISO base media format, of which most files are videos; https://mp4ra.org/registered-types/brands."""

_OGG_SOUNDS = (b"OpusHead", b"\x01vorbis", b"Speex   ", b"\x7fFLAC")


def mime_type_of(head: bytes) -> str | None:
    """The type of a file that begins with these bytes, or `None` where they say nothing."""
    for start, mime_type in _STARTS:
        if head.startswith(start):
            return mime_type
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head.startswith(b"OggS"):
        # The first packet of the first page, which names the codec, stands behind 27 bytes and one for its length.
        return "audio/ogg" if head[28:].startswith(_OGG_SOUNDS) else "application/ogg"
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        return "image/bmp"
    return _bare_sound(head)


def attachment_kind(mime_type: str | None) -> AttachmentKind:
    """What a file of this type can become for the agent."""
    match (mime_type or "").partition("/")[0]:
        case "image":
            return AttachmentKind.IMAGE
        case "audio":
            return AttachmentKind.AUDIO
        case _:
            return AttachmentKind.FILE


def _bare_sound(head: bytes) -> str | None:
    """MPEG audio without a tag begins with the twelve (AAC) or eleven set bits of its first frame."""
    match head[:2]:
        case b"\xff\xf1" | b"\xff\xf9":
            return "audio/aac"
        case b"\xff\xfb" | b"\xff\xfa" | b"\xff\xf3" | b"\xff\xf2":
            return "audio/mpeg"
        case _:
            return None

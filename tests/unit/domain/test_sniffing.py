"""What a file is, by its first bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.message import AttachmentKind
from fermix.domain.sniffing import HEAD_BYTES, attachment_kind, mime_type_of

OGG = b"OggS\x00\x02" + bytes(20) + b"\x01\x13"

HEADS = {
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR": "image/png",
    b"\xff\xd8\xff\xe1\x00\x10Exif": "image/jpeg",
    b"GIF89a\x01\x00": "image/gif",
    b"RIFF\x24\x00\x00\x00WEBPVP8 ": "image/webp",
    b"RIFF\x24\x00\x00\x00WAVEfmt ": "audio/wav",
    b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00": "image/heic",
    b"\x00\x00\x00\x18ftypM4A \x00\x00\x02\x00": "audio/mp4",
    b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00": "video/mp4",
    b"II*\x00\x08\x00\x00\x00": "image/tiff",
    b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00": "image/bmp",
    OGG + b"OpusHead\x01": "audio/ogg",
    OGG + b"\x01vorbis": "audio/ogg",
    OGG + b"\x80theora": "application/ogg",
    b"ID3\x04\x00": "audio/mpeg",
    b"\xff\xfb\x90\x64": "audio/mpeg",
    b"\xff\xf1\x50\x80": "audio/aac",
    b"fLaC\x00\x00\x00\x22": "audio/flac",
    b"#!AMR\n": "audio/amr",
    b"\x1aE\xdf\xa3\x9f": "video/webm",
    b"%PDF-1.7": "application/pdf",
    b"PK\x03\x04\x14\x00": "application/zip",
    b"": None,
    b"OggS": "application/ogg",
    b"<html>": None,
    b"\xff\xfeh\x00i\x00": None,
}


@pytest.mark.parametrize(("head", "mime_type"), HEADS.items())
def test_a_file_is_what_its_first_bytes_say(head: bytes, mime_type: str | None) -> None:
    assert mime_type_of(head) == mime_type


@given(st.binary(max_size=HEAD_BYTES), st.binary(max_size=100))
def test_what_stands_behind_the_head_changes_nothing(head: bytes, rest: bytes) -> None:
    whole = head.ljust(HEAD_BYTES, b"\x00")
    assert mime_type_of(whole + rest) == mime_type_of(whole)


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [
        ("image/heic", AttachmentKind.IMAGE),
        ("audio/ogg", AttachmentKind.AUDIO),
        ("video/mp4", AttachmentKind.FILE),
        ("application/pdf", AttachmentKind.FILE),
        (None, AttachmentKind.FILE),
    ],
)
def test_pictures_and_sounds_are_told_apart_from_everything_else(
    mime_type: str | None, kind: AttachmentKind
) -> None:
    assert attachment_kind(mime_type) is kind

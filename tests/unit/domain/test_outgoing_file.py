"""What a file is called and taken for when it is sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.domain.delivery import MediaKind
from fermix.domain.outgoing_file import MAX_NAME_BYTES, shown_name, shows_as, stated_type, type_to_send

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
ZIP = b"PK\x03\x04" + bytes(40)
OCTETS = bytes(range(128, 200))
TEXT = b"name,amount\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("report.pdf", "report.pdf"),
        ("out/2026/report.pdf", "report.pdf"),
        ("..\\..\\report.pdf", "report.pdf"),
        ("../..", "file"),
        ("", "file"),
        ("...", "file"),
        (" a\nb\t.txt ", "a b.txt"),
        ("gpj.\u202eexe.txt", "gpj.exe.txt"),
        (".env", "env"),
        ("Ärger 🙂.md", "Ärger 🙂.md"),
        ("x" * 300 + ".pdf", "x" * 196 + ".pdf"),
        ("a." + "y" * 300, "a." + "y" * 198),
    ],
)
def test_a_name_is_shown_without_its_folders_and_without_tricks(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@given(name=st.text())
def test_a_shown_name_is_short_visible_and_no_path_and_stays_as_it_is(name: str) -> None:
    shown = shown_name(name)
    assert 0 < len(shown.encode()) <= MAX_NAME_BYTES
    assert "/" not in shown
    assert "\\" not in shown
    assert shown.isprintable()
    assert shown_name(shown) == shown


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("text/csv", "text/csv"),
        ("Text/CSV; charset=utf-8", "text/csv"),
        ("image/svg+xml", "image/svg+xml"),
        ("csv", None),
        ("text/", None),
        ("text/csv\r\nX-Evil: 1", None),
    ],
)
def test_a_stated_type_is_a_media_type_or_nothing(text: str, stated: str | None) -> None:
    assert stated_type(text) == stated


@pytest.mark.parametrize(
    ("head", "name", "stated", "sent"),
    [
        (PNG, "report.pdf", "application/pdf", "image/png"),
        (TEXT, "table.csv", None, "text/csv"),
        (TEXT, "table.csv", "text/plain", "text/plain"),
        (TEXT, "photo.png", None, "text/plain"),
        (TEXT, "note", "audio/ogg", "text/plain"),
        (b"<svg/>", "drawing.svg", None, "image/svg+xml"),
        (ZIP, "letter.docx", None, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (ZIP, "all", None, "application/zip"),
        (b"\x1f\x8b\x08" + bytes(9), "all.tar.gz", None, "application/gzip"),
        (OCTETS, "unknown", None, "application/octet-stream"),
        (OCTETS, "unknown", "application/x-own", "application/x-own"),
    ],
)
def test_the_content_decides_then_who_sends_it_then_the_name(
    head: bytes, name: str, stated: str | None, sent: str
) -> None:
    assert type_to_send(head, name=name, stated=stated) == sent


@given(head=st.binary(max_size=600), name=st.text(max_size=20))
def test_every_file_has_a_type(head: bytes, name: str) -> None:
    found = type_to_send(head, name=name, stated=None)
    assert stated_type(found) == found
    assert shows_as(MediaKind.DOCUMENT, found)


@pytest.mark.parametrize(
    ("kind", "mime_type", "fits"),
    [
        (MediaKind.IMAGE, "image/png", True),
        (MediaKind.IMAGE, "application/pdf", False),
        (MediaKind.VOICE, "audio/ogg", True),
        (MediaKind.VOICE, "video/mp4", False),
        (MediaKind.VIDEO, "video/mp4", True),
        (MediaKind.AUDIO, "text/plain", False),
    ],
)
def test_a_file_is_shown_as_what_it_is(kind: MediaKind, mime_type: str, *, fits: bool) -> None:
    assert shows_as(kind, mime_type) is fits

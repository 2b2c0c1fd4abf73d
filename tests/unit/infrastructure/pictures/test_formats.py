"""Telling pictures apart by their first bytes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermix.application.ports.pictures import UnreadablePicture
from fermix.infrastructure.pictures.formats import HEAD, Format, recognise
from tests.unit.infrastructure.pictures.files import HEIC, saved, scene


@pytest.mark.parametrize("form", list(Format))
def test_each_format_is_known_by_its_first_bytes(form: Format) -> None:
    assert recognise(saved(scene(4, 4), form.value)[:HEAD]) is form


@pytest.mark.parametrize(
    ("head", "named"),
    [
        (b"", "empty"),
        (HEIC, "a HEIC picture"),
        (b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif", "an AVIF picture"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2", "a video"),
        (b"\xff\x0a\xfa\x7f", "a JPEG XL picture"),
        (b"%PDF-1.7", "a PDF document"),
        (b"\n <!DOCTYPE html><html><title>Log in</title>", "a web page"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG drawing"),
        (b"BMW is a car", "no picture of a known format"),
        (b"RIFF\x00\x00\x00\x00WAVE", "no picture of a known format"),
        (bytes(200), "no picture of a known format"),
    ],
)
def test_what_cannot_be_read_is_named_in_the_reason(head: bytes, named: str) -> None:
    with pytest.raises(
        UnreadablePicture, match=f"^the file is {named}; JPEG, PNG, GIF and WebP can be read$"
    ):
        recognise(head)


@given(st.binary(max_size=HEAD))
def test_any_bytes_are_a_format_or_are_refused(head: bytes) -> None:
    with suppress(UnreadablePicture):
        assert recognise(head) in Format

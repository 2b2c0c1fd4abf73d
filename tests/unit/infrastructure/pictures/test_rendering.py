"""Making pictures upright, bare and small enough."""

import io
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fermix.infrastructure.pictures.limits import LIMITS
from fermix.infrastructure.pictures.rendering import NotReadable, Rendered, render
from tests.unit.infrastructure.pictures.files import (
    GPS,
    LEFT,
    ORIENTATIONS,
    RIGHT,
    bomb,
    grey_16_bit,
    noise,
    photographed,
    saved,
    scene,
)

SMALL = replace(LIMITS, side=64)


def opened(made: Rendered) -> Image.Image:
    return Image.open(io.BytesIO(made.content))


def is_near(found: object, wanted: tuple[int, int, int]) -> bool:
    assert isinstance(found, tuple)
    return all(abs(one - other) < 40 for one, other in zip(found[:3], wanted, strict=True))


def shows_the_scene(image: Image.Image) -> bool:
    """Whether red is in the upper left quarter alone."""
    right, bottom = image.width * 3 // 4, image.height * 3 // 4
    left, top = image.width // 4, image.height // 4
    flat = image.convert("RGB")
    return is_near(flat.getpixel((left, top)), LEFT) and all(
        is_near(flat.getpixel(place), RIGHT) for place in ((right, top), (left, bottom), (right, bottom))
    )


@settings(max_examples=40)
@given(
    width=st.integers(60, 300),
    height=st.integers(60, 300),
    orientation=st.sampled_from(ORIENTATIONS),
    form=st.sampled_from(["JPEG", "PNG", "WEBP", "TIFF"]),
)
def test_every_picture_comes_out_upright_bare_and_within_the_limits(
    width: int, height: int, orientation: int, form: str
) -> None:
    made = render(photographed(scene(width, height), orientation, form), form=form, limits=SMALL)
    image = opened(made)
    assert image.size == (made.width, made.height)
    assert max(image.size) == min(64, max(width, height))
    scale = min(1, 64 / max(width, height))
    assert abs(made.width - width * scale) <= 0.5
    assert abs(made.height - height * scale) <= 0.5
    assert shows_the_scene(image)
    assert GPS not in image.getexif()
    assert not {"exif", "icc_profile", "comment", "xmp", "dpi"} & image.info.keys()
    assert made.mime_type == Image.MIME[str(image.format)]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "I", "F"])
def test_every_kind_of_colour_becomes_red_green_and_blue(mode: str) -> None:
    rich = scene(40, 40, "RGB").convert("L" if mode in {"I", "F"} else "RGB")
    image = (
        rich
        if mode == "RGB"
        else (rich.convert("RGB").convert(mode) if mode != "LAB" else Image.new("LAB", (40, 40)))
    )
    made = render(saved(image, "TIFF"), form="TIFF", limits=LIMITS)
    assert opened(made).mode == "RGB"


def test_a_photograph_in_printing_colours_keeps_its_colours() -> None:
    made = render(saved(scene(64, 64, "CMYK"), "JPEG"), form="JPEG", limits=LIMITS)
    assert shows_the_scene(opened(made))


@pytest.mark.parametrize(("value", "seen"), [(0, 0), (32_896, 128), (65_535, 255)])
def test_sixteen_bits_of_grey_become_eight(value: int, seen: int) -> None:
    made = render(grey_16_bit(value), form="PNG", limits=LIMITS)
    assert opened(made).convert("L").getpixel((4, 4)) == seen


def test_transparency_is_kept_as_png() -> None:
    image = scene(40, 40, "RGBA")
    image.putalpha(Image.new("L", (40, 40), 100))
    for form in ("PNG", "WEBP"):
        made = render(saved(image, form), form=form, limits=LIMITS)
        assert (made.mime_type, opened(made).mode) == ("image/png", "RGBA")
        assert opened(made).getpixel((5, 5))[3] == 100  # type: ignore[index]


def test_transparency_through_which_nothing_shows_is_none() -> None:
    made = render(saved(scene(40, 40, "RGBA"), "PNG"), form="PNG", limits=LIMITS)
    assert opened(made).mode == "RGB"


def test_what_was_stored_without_loss_stays_so_while_it_is_small() -> None:
    drawing = scene(300, 200)
    made = render(saved(drawing, "BMP"), form="BMP", limits=LIMITS)
    assert made.mime_type == "image/png"
    assert opened(made).tobytes() == drawing.tobytes()


def test_a_photograph_that_was_stored_without_loss_becomes_a_jpeg() -> None:
    photograph = saved(noise(900, 900), "PNG")
    made = render(photograph, form="PNG", limits=replace(LIMITS, lossless_bytes=len(photograph) // 4))
    assert made.mime_type == "image/jpeg"


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_nothing_is_ever_larger_than_a_provider_takes(mode: str) -> None:
    limits = replace(LIMITS, result_bytes=6000)
    made = render(saved(noise(400, 300, mode), "PNG"), form="PNG", limits=limits)
    assert 0 < len(made.content) <= 6000
    assert abs(made.width / made.height - 4 / 3) < 0.2


def test_of_an_animation_the_first_frame_is_shown() -> None:
    later = [Image.new("RGB", (40, 40), colour) for colour in ("green", "white")]
    for form in ("GIF", "WEBP", "PNG"):
        moving = saved(scene(40, 40), form, save_all=True, append_images=later, duration=50, loop=0)
        still = opened(render(moving, form=form, limits=LIMITS))
        assert getattr(still, "n_frames", 1) == 1
        assert shows_the_scene(still)


def test_what_hides_behind_the_end_of_a_picture_goes_nowhere() -> None:
    payload = b"PK\x03\x04 <script>alert(1)</script>"
    for form in ("JPEG", "PNG", "GIF"):
        made = render(saved(scene(40, 40), form) + payload, form=form, limits=LIMITS)
        assert payload not in made.content


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
def test_a_file_that_was_cut_off_is_refused(form: str) -> None:
    whole = saved(noise(120, 120), form)
    for part in (0.1, 0.5, 0.9):
        with pytest.raises(NotReadable):
            render(whole[: int(len(whole) * part)], form=form, limits=LIMITS)


def test_too_many_pixels_are_refused_by_the_header() -> None:
    with pytest.raises(NotReadable, match="8000 × 7000 pixels, more than 50000000"):
        render(bomb(8000, 7000), form="PNG", limits=LIMITS)


def test_only_the_format_that_was_seen_may_be_decoded() -> None:
    with pytest.raises(NotReadable):
        render(saved(scene(8, 8), "PNG"), form="JPEG", limits=LIMITS)


@given(st.binary(max_size=400), st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF"]))
def test_any_bytes_are_a_picture_or_are_refused(junk: bytes, form: str) -> None:
    beginning = saved(scene(6, 6), form)
    for source in (junk, beginning[: len(beginning) // 2] + junk, beginning[:20] + junk):
        with suppress(NotReadable):
            assert render(source, form=form, limits=LIMITS).width > 0

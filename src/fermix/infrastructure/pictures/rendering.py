"""A picture upright, bare of metadata and small enough for a model. The only module that knows Pillow."""

import io
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from fermix.infrastructure.pictures.limits import Limits

READERS = (BmpImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin)
"""Named here so that Pillow never loads its forty others when it meets a file that none of these reads."""

_FAULTS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    NotImplementedError,
    struct.error,
)
"""What Pillow raises on files that are not what they seem; it promises no list."""

_ORIENTATION = 0x0112
_UPRIGHT = MappingProxyType(
    {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_270,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_90,
    }
)
"""By the orientation that EXIF tells: what makes it upright."""

_LOSSY = frozenset({"JPEG", "MPO", "WEBP"})
_QUALITIES = (90, 80, 65, 50)
_SMALLER = 0.75


class NotReadable(Exception):
    """It cannot be decoded, or not within the limits; the text says why."""


class TooManyPixels(NotReadable):
    """Its header announces more than are decoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A picture as a file."""

    content: bytes
    mime_type: str
    width: int
    height: int


def render(source: bytes, *, form: str, limits: Limits) -> Rendered:
    """Make a picture fit; of an animation its first frame.

    Everything is encoded anew, also what fits already: what hides behind the end of a file, or in its metadata,
    goes nowhere. What was stored without loss stays so while it is small, what has transparency stays a PNG.

    Args:
        source: a whole file.
        form: the only format, by Pillow's name, that it may be.
        limits: `pixels` are judged by the header, before anything is decoded.

    Raises:
        TooManyPixels: it is too large.
        NotReadable: it is broken, cut off, of another format, or takes too much memory.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's remarks on odd files are nobody's
            return _rendered(source, form, limits)
    except MemoryError as exc:
        raise NotReadable("decoding it takes more memory than allowed") from exc
    except Image.DecompressionBombError as exc:  # Pillow's own limit lies above ours, and comes first
        raise TooManyPixels(f"it has far more than {limits.pixels} pixels") from exc
    except _FAULTS as exc:
        raise NotReadable(f"it cannot be decoded: {type(exc).__name__}: {exc}"[:300]) from exc


def _rendered(source: bytes, form: str, limits: Limits) -> Rendered:
    with Image.open(io.BytesIO(source), formats=[form]) as opened:
        width, height = opened.size
        if width * height > limits.pixels:
            raise TooManyPixels(f"it has {width} × {height} pixels, more than {limits.pixels} in all")
        target = _fitted(opened.size, limits.side)
        opened.draft(None, target)  # a JPEG can be decoded at a half, a quarter or an eighth of its size
        announced = opened.size
        opened.load()
        if opened.size != announced:
            target = target[::-1]  # a TIFF turns itself while it is loaded
        turn = _UPRIGHT.get(_orientation(opened))
        small = _plain(opened).resize(target, Image.Resampling.LANCZOS, reducing_gap=2.0)
    upright = small if turn is None else small.transpose(turn)
    upright.info.clear()  # where encoders look for colour profiles, comments and the like
    return _encoded(upright, lossless=opened.format not in _LOSSY, limits=limits)


def _fitted(size: tuple[int, int], side: int) -> tuple[int, int]:
    width, height = size
    scale = min(1.0, side / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except _FAULTS:
        return 1  # broken metadata say nothing against the picture


def _plain(image: Image.Image) -> Image.Image:
    """Eight bits each of red, green and blue, and transparency where something shows through."""
    if image.mode.startswith("I"):
        # Sixteen bits of grey; a plain conversion takes all that is brighter than 255 for white.
        image = image.convert("I").point(lambda grey: grey * (1 / 257)).convert("L")
    if not image.has_transparency_data:
        return image if image.mode == "RGB" else image.convert("RGB")
    clear = image if image.mode == "RGBA" else image.convert("RGBA")
    return clear.convert("RGB") if clear.getchannel("A").getextrema() == (255, 255) else clear


def _encoded(image: Image.Image, *, lossless: bool, limits: Limits) -> Rendered:
    while True:
        for content, mime_type, limit in _forms(image, lossless=lossless, limits=limits):
            if len(content) <= limit:
                return Rendered(content=content, mime_type=mime_type, width=image.width, height=image.height)
        image = image.resize(_fitted(image.size, round(max(image.size) * _SMALLER)))


def _forms(image: Image.Image, *, lossless: bool, limits: Limits) -> Iterator[tuple[bytes, str, int]]:
    """A picture in the forms that it may have, best first, each with how large it may be."""
    if image.mode == "RGBA":
        yield _saved(image, "PNG"), "image/png", limits.result_bytes
        return
    if lossless:
        yield _saved(image, "PNG"), "image/png", min(limits.lossless_bytes, limits.result_bytes)
    for quality in _QUALITIES:
        yield _saved(image, "JPEG", quality=quality), "image/jpeg", limits.result_bytes


def _saved(image: Image.Image, form: str, **options: int) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()

"""Pictures on their way to a model: judged by their content, and made to fit."""

from typing import Protocol

from fermix.domain.blob import BlobRef
from fermix.domain.picture import Picture


class Pictures(Protocol):
    """Makes what people send fit for models. Raises `PictureError` or `BlobError` and nothing else."""

    async def prepare(self, source: BlobRef) -> Picture:
        """A stored picture in a form that every provider takes, stored in the same store.

        It stands upright, holds no metadata, and is no larger than a provider takes; of an animation it is the
        first frame. Decoding happens in another process with limits on time and memory.

        Raises:
            UnreadablePicture: it is no picture that can be read.
            PictureTooLarge: its file is larger than what is looked at.
            TooManyPixels: its header announces more than `MAX_PIXELS`.
            PicturesUnavailable: the decoder failed; trying again may help.
            BlobError: it cannot be read, or its new form not be stored.
        """
        ...


class PictureError(Exception):
    """Base of all errors of pictures; the text is for operators."""


class UnreadablePicture(PictureError):
    """Not a picture, broken, or of a format nobody here reads."""


class PictureTooLarge(PictureError):
    """Its file is not looked at.

    Attributes:
        limit: the most bytes that are.
    """

    def __init__(self, text: str, *, limit: int) -> None:
        super().__init__(text)
        self.limit = limit


class TooManyPixels(PictureError):
    """More than are decoded."""


class PicturesUnavailable(PictureError):
    """The decoder could not be started, took too long, or died."""

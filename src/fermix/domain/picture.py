"""Pictures as a conversation holds them."""

from dataclasses import dataclass

from fermix.domain.blob import BlobRef

MAX_PIXELS = 50_000_000
"""The most pixels of a picture that is decoded; phones take up to 48 million at once."""

MAX_FILE_BYTES = 32 * 1024 * 1024
"""The largest file that is looked at for a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture that models can be shown.

    Attributes:
        content: its bytes.
        mime_type: `image/jpeg`, `image/png`, `image/gif` or `image/webp`: those that every provider takes.
        width: in pixels.
        height: in pixels.
    """

    content: BlobRef
    mime_type: str
    width: int
    height: int

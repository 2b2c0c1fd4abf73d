"""What is taken of a picture, what is made of it, and what making it may cost."""

from dataclasses import dataclass

from fermix.domain.picture import MAX_FILE_BYTES, MAX_PIXELS

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one picture.

    Attributes:
        source_bytes: the largest file that is looked at.
        pixels: the most that are decoded, judged by the header.
        side: the longer side of what is made, in pixels. OpenAI scales whatever is larger down to this before
            its models see it, others to less: more would cost time and tokens and show nothing.
        result_bytes: of what is made. The lowest limit that a large provider documents is Anthropic's 5 MB, which
            counts the picture as base64, that is, four thirds of it.
        lossless_bytes: an opaque picture that stays larger than this without loss is a photograph, and becomes a
            JPEG: every request of a conversation carries its pictures again.
        memory_bytes: of the address space of the process that decodes, where the system can limit it (macOS
            cannot; there the number of pixels is the limit).
        seconds: from the start of that process to its end.
    """

    source_bytes: int = MAX_FILE_BYTES
    pixels: int = MAX_PIXELS
    side: int = 2048
    result_bytes: int = 3_750_000
    lossless_bytes: int = MIB
    memory_bytes: int = 768 * MIB
    seconds: int = 20


LIMITS = Limits()

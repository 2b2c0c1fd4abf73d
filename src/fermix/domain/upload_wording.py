"""What the sender of a file at a terminal is told."""

from fermix.domain.caps import MIB

DISK_FULL = "There is no room for the file: my disk, or what I may keep on it, is full."
NOT_STORED = "I cannot keep the file just now. Please try again in a moment."
FILE_GONE = "The file is not here any more."
FILE_UNREADABLE = "The file cannot be read just now."


def too_large(limit: int) -> str:
    """The file has more bytes than `limit`."""
    return f"The file is larger than {limit // MIB} MiB, the limit."

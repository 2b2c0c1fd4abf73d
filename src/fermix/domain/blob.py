"""Files by their content: what a row keeps of one, and what the store of them is asked with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRef:
    """A stored file: equal content has equal references.

    Attributes:
        digest: SHA-256 of its bytes, 64 lower-case hexadecimal digits.
        size_bytes: how many bytes it has.
    """

    digest: str
    size_bytes: int

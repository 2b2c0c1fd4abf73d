"""Files by their content: what a row keeps of one, and what the store of them is asked with."""

import re
from dataclasses import dataclass

_REFERENCE = re.compile(r"blob:([0-9a-f]{64}):(0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRef:
    """A stored file: equal content has equal references.

    Attributes:
        digest: SHA-256 of its bytes, 64 lower-case hexadecimal digits.
        size_bytes: how many bytes it has.
    """

    digest: str
    size_bytes: int

    @property
    def reference(self) -> str:
        """As one word, for a row that names an attachment which lies in the store already."""
        return f"blob:{self.digest}:{self.size_bytes}"


def referenced_blob(reference: str) -> BlobRef | None:
    """The file that `BlobRef.reference` named, or `None` when it is not of that form."""
    found = _REFERENCE.fullmatch(reference)
    return None if found is None else BlobRef(digest=found[1], size_bytes=int(found[2]))

"""Files that a local terminal sends along with what it asks."""

from dataclasses import dataclass

from fermix.domain.blob import BlobRef
from fermix.domain.message import AttachmentKind

MAX_FILES = 32
"""Files of one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that is kept, and that a question may take along.

    Attributes:
        name: what its sender calls it, untrusted.
        mime_type: by its content; `None` where that says nothing.
    """

    name: str
    blob: BlobRef
    kind: AttachmentKind
    mime_type: str | None


class UploadRefused(Exception):
    """A file cannot be taken; the text is a sentence for its sender, and nothing of the file is left.

    Attributes:
        too_large: it never can be: another try changes nothing.
    """

    def __init__(self, text: str, *, too_large: bool = False) -> None:
        super().__init__(text)
        self.too_large = too_large

"""A call that carries a file: its parameters and the file's bytes as one body whose length is known beforehand."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass

from fermix.domain.blob import BlobRef
from fermix.domain.normalise import clean

_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})
"""How names stand in a header of multipart; https://html.spec.whatwg.org/#multipart-form-data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file on its way: what it is, and its bytes, to be read once."""

    blob: BlobRef
    pieces: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Multipart:
    """The body of one call.

    Attributes:
        parameters: by name, each as text.
        field: the parameter that the file is.
        mime_type: its type; anything that is none is left to the server.
    """

    parameters: Mapping[str, str]
    field: str
    file_name: str
    mime_type: str
    upload: Upload

    @property
    def content_type(self) -> str:
        """The header that says where the parts end."""
        return f"multipart/form-data; boundary={self._boundary}"

    @property
    def length(self) -> int:
        """Bytes in all."""
        return len(self._before) + self.upload.blob.size_bytes + len(self._after)

    async def stream(self) -> AsyncGenerator[bytes]:
        """The bytes."""
        yield self._before
        async for piece in self.upload.pieces:
            yield piece
        yield self._after

    @property
    def _before(self) -> bytes:
        parts = [
            f'--{self._boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in self.parameters.items()
        ]
        named = f'name="{self.field}"; filename="{clean(self.file_name).translate(_ESCAPES)}"'
        mime = self.mime_type if self.mime_type.isascii() and self.mime_type.isprintable() else ""
        parts.append(
            f"--{self._boundary}\r\nContent-Disposition: form-data; {named}\r\n"
            f"Content-Type: {mime or 'application/octet-stream'}\r\n\r\n"
        )
        return "".join(parts).encode()

    @property
    def _after(self) -> bytes:
        return f"\r\n--{self._boundary}--\r\n".encode()

    @property
    def _boundary(self) -> str:
        """Made of all that stands between the boundaries, none of which can hold its own digest."""
        said = [self.upload.blob.digest, *self.parameters.values()]
        return hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()

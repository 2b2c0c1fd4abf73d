"""A message that carries a file, as one body whose length is known beforehand."""

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
    file_name: str
    mime_type: str
    pieces: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Multipart:
    """The body of one call; https://discord.com/developers/docs/reference#uploading-files.

    Attributes:
        payload: the message, as JSON.
    """

    payload: bytes
    upload: Upload

    @property
    def headers(self) -> Mapping[str, str]:
        """Where the parts end, and bytes in all."""
        length = len(self._before) + self.upload.blob.size_bytes + len(self._after)
        return {
            "Content-Type": f"multipart/form-data; boundary={self._boundary}",
            "Content-Length": str(length),
        }

    async def stream(self) -> AsyncGenerator[bytes]:
        """The bytes."""
        yield self._before
        async for piece in self.upload.pieces:
            yield piece
        yield self._after

    @property
    def _before(self) -> bytes:
        name = clean(self.upload.file_name).translate(_ESCAPES)
        mime = self.upload.mime_type
        mime = mime if mime.isascii() and mime.isprintable() and mime else "application/octet-stream"
        heads = (
            (
                f'--{self._boundary}\r\nContent-Disposition: form-data; name="payload_json"\r\n'
                "Content-Type: application/json\r\n\r\n"
            ),
            (
                f"\r\n--{self._boundary}\r\n"
                f'Content-Disposition: form-data; name="files[0]"; filename="{name}"\r\n'
                f"Content-Type: {mime}\r\n\r\n"
            ),
        )
        return heads[0].encode() + self.payload + heads[1].encode()

    @property
    def _after(self) -> bytes:
        return f"\r\n--{self._boundary}--\r\n".encode()

    @property
    def _boundary(self) -> str:
        """Made of all that stands between the boundaries, none of which can hold its own digest."""
        return hashlib.sha256(self.upload.blob.digest.encode() + self.payload).hexdigest()

"""Files on their way out: signal-cli reads them from disk, where each is put while it is sent."""

import hashlib
import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from fermix.application.ports.blobs import ReadsBlobs
from fermix.application.ports.channel import ChannelUnreachable
from fermix.domain.delivery import MediaPart
from fermix.domain.normalise import clean

_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:]")
_LONGEST_NAME = 100
_MOST_BYTES = 240
"""File systems take 255."""

_PRIVATE = 0o700


def shown_name(name: str) -> str:
    """The name that people see, as the name of a file: no folder, no control character, nothing hidden."""
    plain = _UNSAFE.sub("_", clean(name)).strip().lstrip(".-")
    stem, dot, ending = plain.rpartition(".")
    kept = f"{stem[: _LONGEST_NAME - len(ending) - 1]}.{ending}" if dot and len(ending) <= 10 else plain
    while len(kept.encode()) > _MOST_BYTES:
        kept = kept[1:]
    return kept[:_LONGEST_NAME].strip() or "file"


class OutgoingFiles:
    """A folder of this user's alone; what a killed process left in it goes when it is used again.

    Args:
        folder: made when it is needed.
    """

    def __init__(self, folder: Path, *, blobs: ReadsBlobs) -> None:
        self._folder = folder
        self._blobs = blobs
        self._is_fresh = False

    @asynccontextmanager
    async def on_disk(self, part: MediaPart, *, nonce: str) -> AsyncGenerator[Path]:
        """The file of a part, under the name that people are to see, while the block lasts.

        Raises:
            BlobError: it could not be read.
            ChannelUnreachable: it could not be written.
        """
        place = self._folder / hashlib.sha256(nonce.encode()).hexdigest()[:32]
        try:
            path = await self._write(place, part)
            yield path
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: shutil.rmtree(place, ignore_errors=True))

    async def _write(self, place: Path, part: MediaPart) -> Path:
        try:
            await anyio.to_thread.run_sync(self._make, place)
            path = place / shown_name(part.file_name)
            async with self._blobs.open(part.blob) as pieces, await anyio.open_file(path, "xb") as file:
                async for piece in pieces:
                    await file.write(piece)
        except OSError as exc:
            raise ChannelUnreachable(f"the file could not be put on disk: {exc.strerror}") from exc
        return path

    def _make(self, place: Path) -> None:
        if not self._is_fresh:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._is_fresh = True
        self._folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=_PRIVATE)

"""The store of files in the home: streamed in and out, each under the digest of its bytes."""

import errno
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from fermix.application.ports.blobs import BlobMissing, BlobsFull, BlobsUnavailable, BlobTooLarge
from fermix.application.ports.clock import Clock, Ids
from fermix.domain.blob import BlobRef
from fermix.infrastructure.blobs.folder import BlobFolder, NotKept

T = TypeVar("T")

PIECE = 256 * 1024
"""Bytes that are read or written in one go: a thread is asked once for so many."""

MAX_BYTES = 4 * 1024**3
"""What the whole store may hold."""

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class FolderBlobs:
    """The `Blobs` port over one folder, which is opened by the first call that needs it."""

    def __init__(self, path: Path, *, clock: Clock, ids: Ids, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._clock = clock
        self._ids = ids
        self._max_bytes = max_bytes
        self._threads = anyio.CapacityLimiter(4)
        self._opening = anyio.Lock()
        self._finishing = anyio.Lock()
        self._folder: BlobFolder | None = None
        self._held = 0
        self._coming = 0

    async def store(self, content: AsyncIterable[bytes], *, limit: int) -> BlobRef:
        """See `Blobs.store`. Bytes that are on their way count as held."""
        folder = await self._opened()
        name, taken = self._ids.new(), 0
        handle = await self._do(partial(folder.begin, name))
        try:
            digest = hashlib.sha256()
            async with aclosing(_pieces(content)) as pieces:
                async for piece in pieces:
                    if taken + len(piece) > limit:
                        raise BlobTooLarge(limit=limit)
                    self._make_room(len(piece))
                    taken += len(piece)
                    await self._do(partial(_write_all, handle, piece, digest.update))
            return await self._finish(folder, name, handle, digest.hexdigest(), taken)
        finally:
            self._coming -= taken
            with anyio.CancelScope(shield=True):
                await self._do(partial(_close_and_drop, folder, name, handle))

    @asynccontextmanager
    async def open(self, blob: BlobRef) -> AsyncGenerator[AsyncIterator[bytes]]:
        """See `Blobs.open`."""
        folder = await self._opened()
        try:
            handle, size = await self._do(partial(folder.open, blob.digest))
        except NotKept as exc:
            raise BlobMissing("the file is not kept here any more") from exc
        try:
            if size != blob.size_bytes:
                raise BlobMissing("the file is not as it was")
            async with aclosing(self._read(handle, size)) as pieces:
                yield pieces
        finally:
            os.close(handle)

    async def stale(self, *, before: datetime, limit: int) -> Sequence[str]:
        """See `Blobs.stale`. A store that nothing was put into is not made for that."""
        if self._folder is None and not await self._do(self._path.exists):
            return ()
        folder = await self._opened()
        files = await self._do(lambda: sorted(folder.files(), key=lambda file: file.stored_at))
        old = before.timestamp()
        return [file.digest for file in files if file.stored_at < old][:limit]

    async def remove(self, digest: str, *, before: datetime) -> bool:
        """See `Blobs.remove`."""
        folder = await self._opened()
        async with self._finishing:
            try:
                size = await self._do(partial(folder.remove, digest, before=before.timestamp()))
            except NotKept:
                return False
            self._held -= size or 0
        return size is not None

    async def _finish(self, folder: BlobFolder, name: str, handle: int, digest: str, size: int) -> BlobRef:
        now = self._clock.now().timestamp()
        with anyio.CancelScope(shield=True):  # a rename that nobody counted would stay uncounted
            async with self._finishing:
                is_new = await self._do(partial(folder.finish, name, handle, digest, now=now))
                self._held += size if is_new else 0
        return BlobRef(digest=digest, size_bytes=size)

    async def _read(self, handle: int, size: int) -> AsyncGenerator[bytes]:
        left = size
        while left > 0:
            piece = await self._do(partial(os.read, handle, min(left, PIECE)))
            if not piece:
                raise BlobMissing("the file is not as it was")
            left -= len(piece)
            yield piece

    def _make_room(self, size: int) -> None:
        if self._held + self._coming + size > self._max_bytes:
            raise BlobsFull("no more files may be kept: the store is full")
        self._coming += size

    async def _opened(self) -> BlobFolder:
        async with self._opening:
            if self._folder is None:
                folder = await self._do(partial(BlobFolder, self._path))
                self._held = await self._do(lambda: sum(file.size_bytes for file in folder.files()))
                self._folder = folder
            return self._folder

    async def _do(self, work: Callable[[], T]) -> T:
        with _sorted_errors():
            return await to_thread.run_sync(work, limiter=self._threads)


@contextmanager
def _sorted_errors() -> Generator[None]:
    try:
        yield
    except OSError as exc:
        if exc.errno in _NO_SPACE:
            raise BlobsFull("the disk is full") from exc
        raise BlobsUnavailable(f"the folder of files cannot be used: {exc.strerror}") from exc


async def _pieces(content: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The stream in pieces that are worth a thread each; whoever gave it more keeps no more than one of them."""
    waiting = bytearray()
    async for piece in content:
        waiting += piece
        if len(waiting) >= PIECE:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


def _write_all(handle: int, data: bytes, digest: Callable[[bytes], None]) -> None:
    digest(data)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _close_and_drop(folder: BlobFolder, name: str, handle: int) -> None:
    os.close(handle)
    folder.drop(name)

"""The `FileInbox` port over a folder in the workspace, which no link leads out of."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from fermix.application.ports.blobs import BlobError, ReadsBlobs
from fermix.application.ports.clock import Ids
from fermix.application.ports.file_inbox import NotSaved
from fermix.domain.blob import BlobRef
from fermix.domain.inbox_names import inbox_name
from fermix.infrastructure.workspace.roots import Places

FOLDER = "inbox"

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNFINISHED = ".unfinished-"
_ABANDONED_SECONDS = 3600

_T = TypeVar("_T")


class FolderInbox:
    """Files that people send, each under a name that holds a part of its digest.

    A file is written under another name first, so that whoever reads the folder sees it whole or not at all.
    """

    def __init__(self, *, places: Places, blobs: ReadsBlobs, ids: Ids) -> None:
        self._places = places
        self._blobs = blobs
        self._ids = ids
        self._threads = anyio.CapacityLimiter(2)

    async def save(self, content: BlobRef, *, name: str | None, extension: str | None) -> str:
        """See `FileInbox.save`."""
        called = inbox_name(name, digest=content.digest, extension=extension)
        try:
            folder = await self._do(self._open)
            try:
                if not await self._do(partial(_is_there, folder, called, content.size_bytes)):
                    await self._write(folder, called, content)
            finally:
                os.close(folder)
        except OSError as exc:
            raise NotSaved(f"the inbox cannot be written: {exc.strerror or type(exc).__name__}") from exc
        except BlobError as exc:
            raise NotSaved(str(exc)) from exc
        return f"{FOLDER}/{called}"

    async def _write(self, folder: int, called: str, content: BlobRef) -> None:
        unfinished = f"{_UNFINISHED}{self._ids.new()}"
        handle = await self._do(partial(os.open, unfinished, _NEW_FILE, 0o600, dir_fd=folder))
        try:
            await self._do(partial(_drop_abandoned, folder, handle))
            async with self._blobs.open(content) as pieces:
                async for piece in pieces:
                    await self._do(partial(_write_all, handle, piece))
            await self._do(partial(os.replace, unfinished, called, src_dir_fd=folder, dst_dir_fd=folder))
        finally:
            os.close(handle)
            with anyio.CancelScope(shield=True):
                await self._do(partial(_drop, folder, unfinished))

    def _open(self) -> int:
        """The folder, made on first use; a link in its place is none of ours and is not followed."""
        workspace = next((root for root in self._places.reach(None).roots if root.relative), None)
        if workspace is None:
            raise FileNotFoundError
        outer = os.open(Path(workspace.path), _FOLDER_FLAGS)
        try:
            if not _has(outer, FOLDER):
                os.mkdir(FOLDER, 0o700, dir_fd=outer)
            return os.open(FOLDER, _FOLDER_FLAGS, dir_fd=outer)
        finally:
            os.close(outer)

    async def _do(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._threads)


def _has(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_there(folder: int, name: str, size_bytes: int) -> bool:
    """Whether the file was put there before; what was changed since is written anew."""
    if not _has(folder, name):
        return False
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return stat.S_ISREG(found.st_mode) and found.st_size == size_bytes


def _write_all(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def _drop_abandoned(folder: int, young: int) -> None:
    """Remove what processes that were killed have left half-written; by the clock of whoever keeps the files."""
    now = os.fstat(young).st_mtime
    for name in os.listdir(folder):
        if not name.startswith(_UNFINISHED):
            continue
        with suppress(OSError):  # gone meanwhile, or nothing that can go: no reason not to save the next one
            if now - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > _ABANDONED_SECONDS:
                os.unlink(name, dir_fd=folder)


def _drop(folder: int, name: str) -> None:
    if _has(folder, name):
        os.unlink(name, dir_fd=folder)

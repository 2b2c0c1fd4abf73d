"""Received files: signal-cli has put them into its own folder, under names of its own, and never removes them.

Only a plain name is opened, in that folder, and only when it is a file there: no path from outside is followed.
"""

import os
import re
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable, MediaTooLarge
from fermix.domain.caps import CAPS
from fermix.domain.ids import ChannelName

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.+-]{0,199}")
_CHUNK_BYTES = 256 * 1024


def is_stored_name(name: str) -> bool:
    """Whether it can be the name of a received file: no path, and nothing hidden."""
    return _NAME.fullmatch(name) is not None


def attachment_folder(environment: Mapping[str, str]) -> Path:
    """Where signal-cli keeps received files, by the rules that it states for its data."""
    home = Path(environment.get("HOME") or "/")
    data = environment.get("XDG_DATA_HOME") or home / ".local" / "share"
    return Path(data) / "signal-cli" / "attachments"


class SignalAttachments:
    """See the `MediaSource` port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def fetch(self, reference: str, *, limit: int) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes of a received file."""
        most = min(limit, CAPS[ChannelName("signal")].media_in or 0)
        handle = await anyio.to_thread.run_sync(self._open, reference, most)
        try:
            async with aclosing(_bytes(handle, most)) as pieces:
                yield pieces
        finally:
            os.close(handle)

    def _open(self, name: str, limit: int) -> int:
        if not is_stored_name(name):
            raise ChannelRejected("signal-cli has stored no such file")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            handle = os.open(self._folder / name, flags)
        except FileNotFoundError as exc:
            raise ChannelRejected("signal-cli does not have the file (any more)") from exc
        except OSError as exc:
            raise ChannelRejected(f"the file cannot be opened: {exc.strerror}") from exc
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            os.close(handle)
            if stat.S_ISREG(found.st_mode):
                raise MediaTooLarge(limit=limit)
            raise ChannelRejected("what signal-cli has stored is no file")
        return handle


async def _bytes(handle: int, limit: int) -> AsyncGenerator[bytes]:
    left = limit
    while True:
        try:
            piece = await anyio.to_thread.run_sync(os.read, handle, _CHUNK_BYTES)
        except OSError as exc:
            raise ChannelUnreachable(f"the file cannot be read: {exc.strerror}") from exc
        if not piece:
            return
        left -= len(piece)
        if left < 0:
            raise MediaTooLarge(limit=limit)
        yield piece

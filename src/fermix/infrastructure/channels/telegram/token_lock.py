"""One reader per bot on this machine: a lock that the kernel takes back when its process dies.

Two readers of one bot end each other's polls for ever, and each message reaches one of them by chance.
"""

import fcntl
import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fermix.application.ports.channel import ChannelRejected, ChannelUnreachable

_MAX_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLock:
    """The lock of one bot.

    Attributes:
        path: the same for every home of this user; nothing in its name tells the token.
        home: what others are told.
    """

    path: Path
    home: Path

    @contextmanager
    def held(self) -> Generator[None]:
        """Be the one reader while the context lasts.

        Raises:
            ChannelRejected: another home reads this bot; the text names it.
            ChannelUnreachable: the file cannot be opened or locked.
        """
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise ChannelUnreachable(f"the bot's lock cannot be opened: {exc.strerror}") from exc
        try:
            self._take(handle)
            yield
        finally:
            os.close(handle)

    def _take(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(handle, 0)
            os.pwrite(handle, os.fsencode(self.home)[:_MAX_BYTES], 0)
        except BlockingIOError as exc:
            other = os.fsdecode(os.pread(handle, _MAX_BYTES, 0)) or "another home"
            raise ChannelRejected(
                f"{other} on this machine already reads this bot's messages: "
                "stop it there, or give this home a bot of its own"
            ) from exc
        except OSError as exc:
            raise ChannelUnreachable(f"the bot's lock cannot be taken: {exc.strerror}") from exc


def lock_of(token: str, *, folder: Path, home: Path) -> TokenLock:
    """The lock of the bot with this token, in a folder that only this user can enter."""
    digest = hashlib.sha256(token.encode()).hexdigest()[:24]
    return TokenLock(path=folder / f"telegram-{digest}.lock", home=home)

"""The way from a chat to whoever owns its home, for as long as the chat lasts."""

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from fermix.application.ports.control import Identity, OwnerKind
from fermix.entrypoints.cli.attachment import reach
from fermix.entrypoints.cli.foreground import Foreground, Note
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ClientError, ControlClient, NoDaemon, connect


class HomeLink:
    """Connects once for each message, since owners change while a chat goes on.

    Where nobody owns the home, this process does, until the chat ends or a daemon takes over.
    """

    def __init__(self, home: Path, foreground: Foreground, *, note: Note) -> None:
        self._home = home
        self._foreground = foreground
        self._note = note
        self._owned = ExitStack()
        self._owner: Identity | None = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the home back if it is ours."""
        self._owned.__exit__(kind, error, trace)

    def connect(self) -> ControlClient:
        """A connection to the owner of the home, which the caller closes. A new owner is told.

        Raises:
            CommandFailed: the home has an owner that does not answer, or cannot be owned.
            ClientError: the connection is refused or breaks off.
        """
        client = self._reach()
        try:
            self._meet(queries.identify(client))
        except ClientError:
            client.close()
            raise
        return client

    def _reach(self) -> ControlClient:
        try:
            return connect(self._home)
        except NoDaemon:
            self._owned.close()  # had it been ours, it would have answered
        return reach(self._home, self._foreground, self._owned, verbose=False, note=self._note)

    def _meet(self, owner: Identity) -> None:
        before, self._owner = self._owner, owner
        if before is None or before.instance == owner.instance:
            return
        if owner.pid != os.getpid():
            self._owned.close()
        self._note(_change(before, owner))


def _change(before: Identity, now: Identity) -> str:
    if now.pid == os.getpid():
        return "Nobody else answers for this home any more; this chat does so itself now."
    if now.kind is OwnerKind.IN_PROCESS:
        return f"Another command (process {now.pid}) answers for this home now; the chat goes on through it."
    if before.kind is OwnerKind.DAEMON:
        return "The daemon was restarted; the chat goes on."
    return "A daemon has started and has taken over; the chat goes on through it."

"""The control socket's server: a Unix listener that only its owner may talk to."""

import errno
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskStatus

from fermix.application.ports.control import Control, Principal, PrincipalCapability
from fermix.infrastructure.local_socket.connection import Connection
from fermix.infrastructure.local_socket.limits import SocketLimits
from fermix.infrastructure.local_socket.peer import Peer, peer_of
from fermix.infrastructure.local_socket.protocol import ErrorCode, encode_error

_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED})
_PAUSE_WITHOUT_RESOURCES_SECONDS = 0.2
_LAST_WORD_SECONDS = 1


class SocketUnavailable(Exception):
    """The socket cannot be opened; the message names its path and says why."""


async def serve(
    path: Path,
    control: Control,
    *,
    owner_uid: int,
    limits: SocketLimits | None = None,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Answer clients until cancelled; started once the socket listens.

    Call it only as the owner of the home's lock: a socket that is there belongs to a dead owner and is replaced.

    Args:
        path: where the socket goes; its folder exists and is private.
        control: what clients ask for.
        owner_uid: the only user that may connect, as the kernel vouches for it.
        limits: the default bounds when `None`.
        task_status: told when clients can connect.

    Raises:
        SocketUnavailable: the socket cannot be opened.
    """
    bounds = limits or SocketLimits()
    seats = anyio.Semaphore(bounds.connections)
    async with (
        _listen(path, backlog=bounds.connections) as listener,
        anyio.create_task_group() as connections,
    ):
        task_status.started()
        while True:
            stream = await _accept(listener)
            if stream is None:
                continue
            try:
                seats.acquire_nowait()
            except anyio.WouldBlock:
                async with stream:
                    await _last_word(stream, ErrorCode.UNAVAILABLE, "There are too many connections already.")
                continue
            connections.start_soon(_serve_one, stream, control, owner_uid, bounds, seats)


async def _serve_one(
    stream: SocketStream, control: Control, owner_uid: int, limits: SocketLimits, seats: anyio.Semaphore
) -> None:
    async with stream:
        try:
            peer = _peer_of(stream)
            if peer is None or peer.uid != owner_uid:
                await _last_word(
                    stream, ErrorCode.DENIED, "Only the user that runs Fermix may use this socket."
                )
                return
            principal = Principal(uid=peer.uid, pid=peer.pid, capabilities=frozenset(PrincipalCapability))
            await Connection(stream, control, principal=principal, limits=limits).run()
        finally:
            seats.release()  # before the client can see the end, and come back


@asynccontextmanager
async def _listen(path: Path, *, backlog: int) -> AsyncGenerator[SocketListener]:
    """The listener; its file is taken away at the end unless somebody else's is there by then."""
    try:
        # The mode is set between binding and listening, so nobody can connect before it holds.
        listener = await anyio.create_unix_listener(path, mode=0o600, backlog=backlog)
        ours = _identity(path)
    except OSError as error:
        raise SocketUnavailable(
            f"The control socket {path} cannot be opened: {error.strerror or error}."
        ) from error
    try:
        async with listener:
            yield listener
    finally:
        if _identity(path) == ours:
            path.unlink(missing_ok=True)  # noqa: ASYNC240 - one system call, also when cancelled


async def _accept(listener: SocketListener) -> SocketStream | None:
    """The next client, or `None` when the system had no room for it just now."""
    try:
        return await listener.accept()
    except (OSError, anyio.BrokenResourceError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError) or cause.errno not in _PASSING:
            raise
        await anyio.sleep(_PAUSE_WITHOUT_RESOURCES_SECONDS)
        return None


async def _last_word(stream: SocketStream, code: ErrorCode, message: str) -> None:
    with anyio.move_on_after(_LAST_WORD_SECONDS):
        try:
            await stream.send(encode_error(None, code, message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


def _peer_of(stream: SocketStream) -> Peer | None:
    raw: socket.socket = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - anyio's, not Django's
    try:
        return peer_of(raw)
    except OSError:
        return None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino

"""Finding somebody who answers for a home: its daemon, another command that owns it, or this process."""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.foreground import Foreground, HomeTaken, Note
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.client import (
    ClientError,
    ConnectionLost,
    ControlClient,
    Hangs,
    NoDaemon,
    connect,
)
from fermix.infrastructure.local_socket.protocol import Verb

PATIENCE_SECONDS = 10.0
"""How long an owner that starts or ends may hold the home without answering."""

HANDOVER_SECONDS = 60.0
"""How long an owner that ends may take to answer those it has already let in."""

_LOOK_EVERY_SECONDS = 0.05


@contextmanager
def attached(
    home: Path,
    foreground: Foreground,
    *,
    verbose: bool,
    note: Note,
    patience: float = PATIENCE_SECONDS,
    deadline: float | None = None,
) -> Generator[ControlClient]:
    """A connection to the owner of the home, or to ourselves when it has none, until the block ends.

    Args:
        home: the absolute home.
        foreground: runs the gateway here when nobody else does.
        verbose: handed on to it.
        note: told what a person should know.
        patience: seconds that an owner who does not answer is waited for.
        deadline: the monotonic time after which the caller will not wait.

    Raises:
        CommandFailed: the home has an owner that does not answer, or cannot be owned.
        ClientError: the connection is refused.
    """
    with ExitStack() as stack:
        client = reach(
            home, foreground, stack, verbose=verbose, note=note, patience=patience, deadline=deadline
        )
        yield stack.enter_context(client)


def reach(
    home: Path,
    foreground: Foreground,
    owned: ExitStack,
    *,
    verbose: bool,
    note: Note,
    patience: float = PATIENCE_SECONDS,
    deadline: float | None = None,
) -> ControlClient:
    """A connection as for `attached`, which the caller closes.

    A socket that is not there, or that nobody listens on yet, is looked for again while somebody owns the home: it
    may just be starting or ending.

    Args:
        owned: gives the home back at its end, when it had to be owned here; it may outlast the connection.

    Raises:
        CommandFailed, ClientError: as for `attached`.
    """
    give_up = time.monotonic() + patience
    while (client := _connected(home)) is None:
        try:
            owned.enter_context(foreground.own(home, verbose=verbose, note=note))
        except HomeTaken as taken:
            if deadline is not None and time.monotonic() >= deadline:
                raise CommandFailed(
                    f"The time limit passed. {taken}", code="timed_out", exit_code=ExitCode.TIMED_OUT
                ) from taken
            if time.monotonic() >= give_up:
                raise CommandFailed(
                    f"{taken} It does not answer.", code="home_busy", exit_code=ExitCode.FAILURE
                ) from taken
            time.sleep(_LOOK_EVERY_SECONDS)
        else:
            return connect(home)
    return client


def outlasted(client: ControlClient, *, patience: float, note: Note) -> bool:
    """Whether whoever could not take a question was ending, and has ended within `patience` seconds.

    The next owner of the home can then be asked the same, under the same id.
    """
    try:
        if client.call(Verb.STATUS).get("draining") is not True:
            return False
    except Hangs:
        return False
    except ConnectionLost:
        return True
    except ClientError:
        return False
    note("Fermix is just ending here; the request goes to whoever answers next.")
    return client.wait_closed(patience)


def _connected(home: Path) -> ControlClient | None:
    try:
        return connect(home)
    except NoDaemon:
        return None

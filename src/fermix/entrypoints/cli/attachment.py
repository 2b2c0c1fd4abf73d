"""Finding somebody who answers for a home: its daemon, another command that owns it, or this process."""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.foreground import Foreground, HomeTaken, Note
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.client import ControlClient, NoDaemon, connect

PATIENCE_SECONDS = 10.0
"""How long an owner that starts or ends may hold the home without answering."""

_LOOK_EVERY_SECONDS = 0.05


@contextmanager
def attached(
    home: Path, foreground: Foreground, *, verbose: bool, note: Note, patience: float = PATIENCE_SECONDS
) -> Generator[ControlClient]:
    """A connection to the owner of the home, or to ourselves when it has none.

    Args:
        home: the absolute home.
        foreground: runs the gateway here when nobody else does.
        verbose: handed on to it.
        note: told what a person should know.
        patience: seconds that an owner who does not answer is waited for.

    Raises:
        CommandFailed: the home has an owner that does not answer, or cannot be owned.
        ClientError: the connection is refused.
    """
    give_up = time.monotonic() + patience
    with ExitStack() as stack:
        while (client := _connected(home)) is None:
            try:
                stack.enter_context(foreground.own(home, verbose=verbose, note=note))
            except HomeTaken as taken:
                if time.monotonic() >= give_up:
                    raise CommandFailed(
                        f"{taken} It does not answer.", code="home_busy", exit_code=ExitCode.FAILURE
                    ) from taken
                time.sleep(_LOOK_EVERY_SECONDS)
            else:
                client = connect(home)
                break
        yield stack.enter_context(client)


def _connected(home: Path) -> ControlClient | None:
    try:
        return connect(home)
    except NoDaemon:
        return None

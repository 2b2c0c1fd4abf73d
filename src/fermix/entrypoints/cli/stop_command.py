"""`fermix stop`: the daemon ends in order, and the command ends after it."""

import os
import time
from pathlib import Path

import click

from fermix.application.ports.control import OwnerKind
from fermix.entrypoints.cli.client_failures import command_failed
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.cli.home import home_folder
from fermix.entrypoints.cli.status_command import no_daemon_but
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket import queries
from fermix.infrastructure.local_socket.client import ClientError, connect

STOP_SECONDS = 120.0
"""Longer than any sensible `drain_seconds`."""

_LOOK_EVERY_SECONDS = 0.02


@click.command()
def stop() -> int:
    """Stop the daemon, and wait until it has gone. Exit status 3 when it is not running."""
    terminal = this_terminal()
    deadline = time.monotonic() + STOP_SECONDS
    try:
        with connect(home_folder(terminal.environ)) as client:
            identity = queries.identify(client)
            if identity.kind is not OwnerKind.DAEMON:
                raise no_daemon_but(identity.pid)
            client.stop()
            gone = client.wait_closed(STOP_SECONDS)
    except ClientError as error:
        raise command_failed(error) from error
    while gone and _is_alive(identity.pid):
        if time.monotonic() >= deadline:
            gone = False
        time.sleep(_LOOK_EVERY_SECONDS)
    if not gone:
        raise CommandFailed(
            f"The daemon (process {identity.pid}) has been told to stop, but is still there after "
            f"{STOP_SECONDS:g} s.",
            code="still_running",
            exit_code=ExitCode.FAILURE,
        )
    terminal.out.write(f"The daemon (process {identity.pid}) has stopped.\n")
    return ExitCode.OK


def _is_alive(pid: int) -> bool:
    """Whether the process still runs; one that only waits for its parent to notice its end does not."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
    except OSError:
        return True  # a system without /proc
    return state.split()[:1] not in (["Z"], ["X"])

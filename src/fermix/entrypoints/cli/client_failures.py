"""What a failed call to the control socket means for the person at the terminal."""

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.local_socket.client import (
    ClientError,
    ConnectionLost,
    DeadlinePassed,
    Denied,
    ForeignProtocol,
    NoDaemon,
    OutputClosed,
    Refused,
    RequestTooLarge,
)

_MEANINGS: tuple[tuple[type[ClientError], str, ExitCode], ...] = (
    (NoDaemon, "not_running", ExitCode.NOT_RUNNING),
    (Denied, "denied", ExitCode.DENIED),
    (RequestTooLarge, "too_large", ExitCode.USAGE),
    (DeadlinePassed, "timed_out", ExitCode.TIMED_OUT),
    (OutputClosed, "output_closed", ExitCode.OUTPUT_CLOSED),
    (ConnectionLost, "connection_lost", ExitCode.FAILURE),
    (ForeignProtocol, "foreign_protocol", ExitCode.FAILURE),
)


def command_failed(error: ClientError) -> CommandFailed:
    """The command's end for a call's."""
    if isinstance(error, Refused):
        return CommandFailed(str(error), code=error.code, exit_code=ExitCode.FAILURE)
    for kind, code, exit_code in _MEANINGS:
        if isinstance(error, kind):
            return CommandFailed(str(error), code=code, exit_code=exit_code)
    return CommandFailed(str(error), code="failed", exit_code=ExitCode.FAILURE)

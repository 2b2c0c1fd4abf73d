"""Runs a command line in this process: its streams, and how it ends when they break or the user has had enough."""

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fermix.entrypoints.cli.ask_options import read_plain
from fermix.entrypoints.cli.ask_run import run_ask
from fermix.entrypoints.cli.foreground import GatewayForeground
from fermix.entrypoints.cli.terminal import this_terminal
from fermix.entrypoints.exit_codes import ExitCode

_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


def run(arguments: Sequence[str]) -> int:
    """Run it; every expected end but an interrupt is an exit status."""
    _mend_streams()
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return ExitCode.OUTPUT_CLOSED
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        _forget_output()
        sys.stderr.write(f"fermix: The output cannot be written: {error.strerror}.\n")
        return ExitCode.FAILURE
    return status


def _dispatch(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["ask"]:
        options = read_plain(arguments[1:])
        if options is not None:
            terminal = this_terminal()
            return run_ask(options, terminal, GatewayForeground(terminal.environ))
    from fermix.entrypoints.cli.commands import run_command

    return run_command(arguments)


def _mend_streams() -> None:
    """A closed stream swallows what is written; a character the encoding lacks becomes a question mark."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def _forget_output() -> None:
    """What is still buffered cannot be written; without this the interpreter would try again and complain."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)

"""The daemon: `python -m fermix.entrypoints.daemon`, which is `fermix run`."""

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import click

from fermix.application.ports.control import OwnerKind
from fermix.application.ports.ledger_errors import LedgerError
from fermix.entrypoints.endings import GatewayCrashed, leaves, why
from fermix.entrypoints.exit_codes import ExitCode
from fermix.entrypoints.lifespan import Override, no_override
from fermix.entrypoints.owner import own
from fermix.entrypoints.preparation import Prepared, logged, prepare
from fermix.infrastructure.http.listening import CannotListen
from fermix.infrastructure.http.token import TokenUnusable
from fermix.infrastructure.local_socket.place import UnsafeFolder
from fermix.infrastructure.local_socket.server import SocketUnavailable
from fermix.infrastructure.settings.home import resolve_home
from fermix.infrastructure.settings.problems import ConfigError
from fermix.infrastructure.system.footprint import leave_out_unused
from fermix.infrastructure.system.home import HomeUnusable
from fermix.infrastructure.system.lock import HomeBusy

_log = logging.getLogger("fermix.owner")

_STOPPERS = (
    CannotListen,
    HomeBusy,
    HomeUnusable,
    LedgerError,
    OSError,
    SocketUnavailable,
    TokenUnusable,
    UnsafeFolder,
)
"""What keeps a daemon from starting, or ends it; each text says what is wrong."""


def main(argv: Sequence[str] | None = None, *, override: Override = no_override) -> int:
    """Run the daemon of this home until SIGTERM or SIGINT; returns the exit code.

    Args:
        argv: takes no arguments; anything there is a usage error.
        override: replaces adapters, for tests that run a real process.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if arguments:
        click.echo("fermix run takes no arguments.", err=True)
        return ExitCode.USAGE
    leave_out_unused()
    home = resolve_home(os.environ, cwd=Path.cwd())
    try:
        prepared = prepare(home, os.environ)
    except ConfigError as exc:
        click.echo(f"fermix: {exc}", err=True)
        return ExitCode.CONFIG_INVALID
    except HomeUnusable as exc:
        click.echo(f"fermix: {exc}", err=True)
        return ExitCode.FAILURE
    return _run(prepared, override)


def _run(prepared: Prepared, override: Override) -> int:
    stopped: list[BaseException] = []
    try:
        with logged(prepared, console=sys.stderr):
            try:
                anyio.run(_own, prepared, override, backend="asyncio", backend_options=loop_options())
            except* _STOPPERS as group:
                stopped.extend(leaves(group))
            except* Exception as group:  # noqa: BLE001  # a bug: the log has it all, the terminal a sentence
                _log.critical("gateway.crashed", exc_info=group)
                stopped.append(GatewayCrashed(leaves(group)[0], prepared.home.log))
    except HomeUnusable as exc:
        stopped.append(exc)
    if not stopped:
        return ExitCode.OK
    click.echo(f"fermix: {why(stopped[0])}", err=True)
    return ExitCode.FAILURE


async def _own(prepared: Prepared, override: Override) -> None:
    await own(prepared.home, prepared.loaded, kind=OwnerKind.DAEMON, environ=os.environ, override=override)


def loop_options() -> dict[str, object]:
    """Event loop options: uvloop where it exists."""
    try:
        import uvloop  # noqa: F401, PLC0415  # only looked for; anyio loads it by itself
    except ImportError:
        return {}
    return {"use_uvloop": True}


if __name__ == "__main__":
    raise SystemExit(main())

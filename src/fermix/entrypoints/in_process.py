"""The same gateway inside a command, for as long as the command runs: no daemon is needed for an answer."""

import logging
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager

import anyio
import click
from anyio.abc import TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal

from fermix.application.operations.control import Operations
from fermix.application.ports.control import OwnerKind
from fermix.application.ports.ledger_errors import LedgerError, LedgerFull
from fermix.entrypoints.daemon import loop_options
from fermix.entrypoints.endings import GatewayCrashed, first_error, why
from fermix.entrypoints.models import local_available
from fermix.entrypoints.owner import own
from fermix.entrypoints.preparation import Prepared, logged
from fermix.infrastructure.local_socket.place import UnsafeFolder
from fermix.infrastructure.local_socket.server import SocketUnavailable
from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.known_providers import LOCAL
from fermix.infrastructure.system.home import Home, HomeProblem, HomeUnusable
from fermix.infrastructure.system.lock import HomeBusy

_log = logging.getLogger("fermix.owner")


@contextmanager
def own_home(prepared: Prepared, environ: Mapping[str, str], *, verbose: bool) -> Iterator[None]:
    """Own a home in a background thread while the block lasts, and serve its control socket.

    The block talks to the socket like to a daemon's. Other commands may join it; at the end their questions are
    answered before the home is given back, while an error in the block (an interrupt too) ends them at once.

    Args:
        prepared: the home and its settings.
        environ: the environment.
        verbose: show the log on stderr.

    Raises:
        HomeBusy: another process owns the home.
        HomeUnusable: the home, its ledger or its socket cannot be used.
        GatewayCrashed: a bug ended the gateway.
    """
    for note in prepared.notes:
        click.echo(f"fermix: {note}", err=True)
    with (
        logged(prepared, console=sys.stderr if verbose else None),
        start_blocking_portal("asyncio", backend_options=loop_options()) as portal,
    ):
        future, operations = _start(portal, prepared, environ)
        try:
            yield
            portal.call(operations.ask_operation.idle)
        finally:
            portal.call(operations.stopping.set)
            with _usable(prepared.home):
                future.result()


def _start(
    portal: BlockingPortal, prepared: Prepared, environ: Mapping[str, str]
) -> tuple[Future[None], Operations]:
    async def run(*, task_status: TaskStatus[Operations] = anyio.TASK_STATUS_IGNORED) -> None:
        await own(
            prepared.home,
            prepared.loaded,
            kind=OwnerKind.IN_PROCESS,
            environ=environ,
            task_status=task_status,
        )

    with _usable(prepared.home):
        return portal.start_task(run, name="home")


@contextmanager
def _usable(home: Home) -> Iterator[None]:
    """Tell every failure as what it means to the person at the terminal; what nobody expected goes to the log."""
    try:
        with first_error():
            yield
    except LedgerFull as exc:
        raise HomeUnusable(home.path, HomeProblem.NO_SPACE) from exc
    except (LedgerError, SocketUnavailable, UnsafeFolder) as exc:
        raise HomeUnusable(home.path, HomeProblem.BROKEN, why(exc)) from exc
    except (HomeBusy, HomeUnusable):
        raise
    except Exception as exc:
        _log.exception("gateway.crashed")
        raise GatewayCrashed(exc, home.log) from exc


def needs_local_model(prepared: Prepared) -> bool:
    """Whether an answer needs the local model and its file is not there yet."""
    settings = prepared.loaded.settings
    try:
        chosen = choose_provider(settings, local_available=True).name
    except ProviderChoiceError:
        return False
    return chosen == LOCAL and not local_available(prepared.home, settings)

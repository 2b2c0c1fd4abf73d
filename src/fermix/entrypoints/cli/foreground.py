"""Answering without a daemon: this process owns the home for the length of one command."""

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.exit_codes import ExitCode

Note = Callable[[str], None]


class HomeTaken(Exception):
    """Another process owns the home; the message names it."""


class Foreground(Protocol):
    """Runs the gateway inside this process."""

    def own(self, home: Path, *, verbose: bool, note: Note) -> AbstractContextManager[None]:
        """Serve the home's socket while the context lasts.

        Raises:
            HomeTaken: another process owns the home.
            CommandFailed: the gateway cannot run here.
        """
        ...


class GatewayForeground:
    """The same gateway as the daemon's, in a thread of this process.

    Args:
        environ: the environment.
        installs_model: fetch the local model first if nothing else can answer; not for commands that ask nothing.
    """

    def __init__(self, environ: Mapping[str, str], *, installs_model: bool = True) -> None:
        self._environ = environ
        self._installs_model = installs_model

    @contextmanager
    def own(self, home: Path, *, verbose: bool, note: Note) -> Generator[None]:
        """Fetch the local model if it is wanted and nothing else can answer, then serve the home."""
        from fermix.entrypoints.endings import GatewayCrashed
        from fermix.entrypoints.in_process import needs_local_model, own_home
        from fermix.entrypoints.preparation import prepare
        from fermix.infrastructure.settings.problems import ConfigError
        from fermix.infrastructure.system.home import HomeUnusable
        from fermix.infrastructure.system.lock import HomeBusy

        try:
            prepared = prepare(home, self._environ)
            if self._installs_model and needs_local_model(prepared):
                install_model(home, self._environ, note=note)
            with own_home(prepared, self._environ, verbose=verbose):
                yield
        except HomeBusy as error:
            raise HomeTaken(str(error)) from error
        except HomeUnusable as error:
            raise CommandFailed(str(error), code="home_unusable", exit_code=ExitCode.FAILURE) from error
        except GatewayCrashed as error:
            raise CommandFailed(str(error), code="internal", exit_code=ExitCode.FAILURE) from error
        except ConfigError as error:
            raise CommandFailed(
                str(error), code="config_invalid", exit_code=ExitCode.CONFIG_INVALID
            ) from error


def install_model(home: Path, environ: Mapping[str, str], *, note: Note) -> Path:
    """Put the default local model into the home, telling how it goes.

    Raises:
        CommandFailed: it cannot be had; the message says what to do.
    """
    from fermix.infrastructure.providers.local.install import ModelInstallError, install

    try:
        return install(home, progress=note, environment=environ)
    except ModelInstallError as error:
        raise CommandFailed(str(error), code="no_model", exit_code=ExitCode.NO_MODEL) from error

"""Which home a command is about."""

from collections.abc import Mapping
from pathlib import Path

from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.settings.home import resolve_home


def home_folder(environ: Mapping[str, str]) -> Path:
    """The absolute home that `FERMIX_HOME` names, else `~/.fermix`; blank counts as unset.

    Raises:
        CommandFailed: the folder a relative `FERMIX_HOME` starts from is gone.
    """
    return resolve_home(environ, cwd=_current_folder(environ))


def _current_folder(environ: Mapping[str, str]) -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        if environ.get("FERMIX_HOME", "").strip()[:1] in {"", "/", "~"}:
            return Path("/")  # an absolute home needs no folder to start from
        raise CommandFailed(
            "The current folder does not exist any more, and FERMIX_HOME is relative to it.",
            code="no_folder",
            exit_code=ExitCode.FAILURE,
        ) from None

"""What keeps `fermix config` from its work, as the end of the command."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fermix.application.ports.secrets import SecretStoreError
from fermix.entrypoints.cli.command_failed import CommandFailed
from fermix.entrypoints.exit_codes import ExitCode
from fermix.infrastructure.settings.document_edit import EditRefused
from fermix.infrastructure.settings.editing import FileBusy
from fermix.infrastructure.settings.key_names import UnknownKey
from fermix.infrastructure.settings.problems import ConfigError, Problem
from fermix.infrastructure.system.home import HomeUnusable


def wrong_usage(text: str, *, code: str = "usage", facts: dict[str, Any] | None = None) -> CommandFailed:
    """The command line is not right."""
    return CommandFailed(text, code=code, exit_code=ExitCode.USAGE, facts=facts)


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn every expected failure into the command's end.

    Args:
        path: the configuration file, for failures of the system.
    """
    try:
        yield
    except UnknownKey as error:
        raise wrong_usage(str(error), code="unknown_key", facts={"nearest": list(error.nearest)}) from error
    except EditRefused as error:
        raise wrong_usage(str(error)) from error
    except ConfigError as error:
        raise CommandFailed(
            str(error),
            code="config_invalid",
            exit_code=ExitCode.CONFIG_INVALID,
            facts={"problems": [problem_document(each) for each in error.problems]},
        ) from error
    except SecretStoreError as error:
        text = f"{error}. Nothing was saved."
        raise CommandFailed(text, code="not_saved", exit_code=ExitCode.FAILURE) from error
    except FileBusy as error:
        raise CommandFailed(str(error), code="busy", exit_code=ExitCode.FAILURE) from error
    except HomeUnusable as error:
        raise CommandFailed(str(error), code="home_unusable", exit_code=ExitCode.FAILURE) from error
    except OSError as error:
        text = f"{path} cannot be changed: {error.strerror or error}. Nothing was saved."
        raise CommandFailed(text, code="not_saved", exit_code=ExitCode.FAILURE) from error


def problem_document(problem: Problem) -> Mapping[str, Any]:
    """One problem for programs."""
    return {
        "source": problem.source,
        "line": problem.line,
        "key": problem.key,
        "text": problem.text,
        "suggestion": problem.suggestion,
    }

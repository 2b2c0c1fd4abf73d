"""What every owner of a home does before it opens anything: home, settings, provider, log."""

import logging
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pydantic import SecretStr

from fermix.entrypoints.stored_secrets import StoresOf
from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import ConfigError
from fermix.infrastructure.settings.stoppers import start_stopper
from fermix.infrastructure.system.home import Home, home_unusable, open_home
from fermix.infrastructure.telemetry.logging import LogFile, logging_to
from fermix.infrastructure.telemetry.redaction import Redactor

_log = logging.getLogger("fermix.settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A home that can be opened, its settings, and what its owner should be told.

    Attributes:
        notes: one line each, for stderr.
        trouble: why the provider cannot answer yet; for the log alone, since whoever asks is told.
    """

    home: Home
    loaded: LoadedSettings
    notes: tuple[str, ...]
    trouble: str | None = None


def prepare(path: Path, environ: Mapping[str, str]) -> Prepared:
    """Open the home and read its settings.

    Raises:
        HomeUnusable: the home cannot be used.
        ConfigError: the settings are wrong, or the provider they choose cannot run in this version or needs a
            model to be named; the text names every problem.
    """
    home = open_home(path)
    loaded = load_settings(path, environ, stores=StoresOf(path, environ))
    stopper = start_stopper(loaded.settings, home.config)
    if stopper is not None:
        raise ConfigError([stopper])
    try:
        note = choose_provider(loaded.settings, local_available=True).note
    except ProviderChoiceError as exc:
        return Prepared(home=home, loaded=loaded, notes=loaded.warnings, trouble=str(exc))
    notes = loaded.warnings if note is None else (*loaded.warnings, note)
    return Prepared(home=home, loaded=loaded, notes=notes)


@contextmanager
def logged(prepared: Prepared, *, console: TextIO | None) -> Generator[None]:
    """Write the log of this home, with every secret of its settings redacted, while the context lasts.

    Raises:
        HomeUnusable: the log cannot be opened.
    """
    telemetry = prepared.loaded.settings.core.telemetry
    redactor = Redactor()
    for secret in secrets_of(prepared.loaded.settings):
        redactor.register(secret)
    file = LogFile(
        path=prepared.home.log,
        max_bytes=telemetry.log_max_mb * 1024 * 1024,
        kept=telemetry.log_files,
    )
    with ExitStack() as stack:
        try:
            stack.enter_context(
                logging_to(redactor=redactor, level=telemetry.log_level, file=file, console=console)
            )
        except OSError as exc:
            raise home_unusable(prepared.home.path, exc) from exc
        trouble = () if prepared.trouble is None else (prepared.trouble,)
        for note in (*prepared.notes, *trouble):
            _log.warning("settings.note", extra={"note": note})
        yield


def secrets_of(settings: Settings) -> frozenset[str]:
    """Every secret value that the settings hold."""
    found: set[str] = set()
    # By what each section is, and not by what its place allows: channels of other packages have keys of their own.
    _collect(settings.model_dump(serialize_as_any=True), found)
    return frozenset(found)


def _collect(value: object, found: set[str]) -> None:
    if isinstance(value, SecretStr):
        found.add(value.get_secret_value())
    elif isinstance(value, Mapping):
        for inner in value.values():
            _collect(inner, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, found)

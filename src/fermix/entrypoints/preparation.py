"""What every owner of a home does before it opens anything: home, settings, provider, log."""

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pydantic import SecretStr

from fermix.infrastructure.settings.choice import (
    MissingModelError,
    ProviderChoiceError,
    UnsupportedProviderError,
    choose_provider,
)
from fermix.infrastructure.settings.loading import LoadedSettings, load_settings
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.system.home import Home, open_home
from fermix.infrastructure.telemetry.logging import LogFile, logging_to
from fermix.infrastructure.telemetry.redaction import Redactor

_log = logging.getLogger("fermix.settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A home that can be opened, its settings, and what its owner should be told.

    Attributes:
        notes: one line each, for stderr.
    """

    home: Home
    loaded: LoadedSettings
    notes: tuple[str, ...]


def prepare(path: Path, environ: Mapping[str, str]) -> Prepared:
    """Open the home and read its settings.

    Raises:
        HomeUnusable: the home cannot be used.
        ConfigError: the settings are wrong; the text names every problem.
        UnsupportedProviderError: the provider that is to answer cannot run in this version.
        MissingModelError: it needs a model to be named.
    """
    home = open_home(path)
    loaded = load_settings(path, environ)
    note: str | None = None
    try:
        note = choose_provider(loaded.settings, local_available=True).note
    except (UnsupportedProviderError, MissingModelError):
        raise
    except ProviderChoiceError as exc:
        note = str(exc)
    return Prepared(
        home=home, loaded=loaded, notes=loaded.warnings if note is None else (*loaded.warnings, note)
    )


@contextmanager
def logged(prepared: Prepared, *, console: TextIO | None) -> Generator[None]:
    """Write the log of this home, with every secret of its settings redacted, while the context lasts."""
    telemetry = prepared.loaded.settings.core.telemetry
    redactor = Redactor()
    for secret in secrets_of(prepared.loaded.settings):
        redactor.register(secret)
    file = LogFile(
        path=prepared.home.log,
        max_bytes=telemetry.log_max_mb * 1024 * 1024,
        kept=telemetry.log_files,
    )
    with logging_to(redactor=redactor, level=telemetry.log_level, file=file, console=console):
        for note in prepared.notes:
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

"""What stops a start although every value is right, with the place where it was chosen."""

from pathlib import Path

from fermix.infrastructure.settings.choice import (
    MissingModelError,
    ProviderChoiceError,
    UnsupportedProviderError,
    choose_provider,
)
from fermix.infrastructure.settings.config_file import read_config_file
from fermix.infrastructure.settings.model import Settings
from fermix.infrastructure.settings.problems import ENVIRONMENT, KeyPath, Problem, dotted


def start_stopper(settings: Settings, file: Path) -> Problem | None:
    """Why a start would stop at these settings although every value is right; a missing key does not stop it.

    Args:
        settings: what is in force.
        file: `config.toml`, for the line of the choice that cannot be carried out.

    Raises:
        ConfigError: the file has become unreadable meanwhile.
    """
    try:
        choose_provider(settings, local_available=True)
    except (UnsupportedProviderError, MissingModelError) as exc:
        return _where_chosen(exc, settings, file)
    except ProviderChoiceError:
        return None
    return None


def _where_chosen(error: ProviderChoiceError, settings: Settings, file: Path) -> Problem:
    name = error.provider or ""
    if settings.core.override.provider == name:
        return Problem(source=ENVIRONMENT, key="FERMIX_PROVIDER", text=str(error))
    lines = read_config_file(file).lines
    section: KeyPath = ("fermix_core", "providers", name)
    marked = name in settings.core.providers and settings.core.providers[name].primary
    chosen_by: KeyPath = (*section, "primary") if marked else ("fermix_core", "agent", "provider")
    place = next((path for path in (chosen_by, section) if path in lines), None)
    return Problem(
        source=str(file),
        line=None if place is None else lines[place],
        key=None if place is None else dotted(place),
        text=str(error),
    )

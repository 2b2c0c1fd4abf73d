"""The row about the model that answers where no provider is configured."""

from importlib.util import find_spec
from pathlib import Path

from fermix.application.operations.doctor.report import Finding, fail, ok, skip, warn
from fermix.entrypoints.doctor_rows.configured import NEEDS_SETTINGS
from fermix.entrypoints.doctor_rows.situation import Situation
from fermix.entrypoints.models import local_profile
from fermix.infrastructure.providers.local.files import DefaultModelFile, ModelFile, ModelFileError, verify
from fermix.infrastructure.settings.choice import ProviderChoiceError, choose_provider
from fermix.infrastructure.settings.known_providers import LOCAL
from fermix.infrastructure.settings.model import Settings

_PACKAGE = "xllamacpp"
_FETCH = "`fermix model install`; the first `fermix ask` without a provider does it too"


def local_model(situation: Situation) -> Finding:
    """Its library, its file and the file's checksum. Matters only where nothing else would answer."""
    if situation.loaded is None:
        return skip(NEEDS_SETTINGS)
    settings = situation.loaded.settings
    file = local_profile(situation.home, settings).file
    is_needed = _is_needed(settings)
    if not file.path.exists():
        if not is_needed:
            return skip("not installed, and not needed: a provider answers")
        if isinstance(file, DefaultModelFile):
            return warn("not installed, and nothing else would answer", remedy=_FETCH)
    trouble = _trouble(file)
    if trouble is not None:
        return (fail if is_needed else warn)(trouble, remedy="`fermix model install`, or correct model_path")
    if find_spec(_PACKAGE) is None:
        sentence = f"{file.path} is there, but its library {_PACKAGE} is not installed"
        remedy = "install fermix-agent with its extra: pip install 'fermix-agent[local]'"
        return (fail if is_needed else warn)(sentence, remedy=remedy)
    return ok(f"{file.path} is installed{_and_whole(file)}")


def _is_needed(settings: Settings) -> bool:
    try:
        return choose_provider(settings, local_available=True).name == LOCAL
    except ProviderChoiceError:
        return False


def _trouble(file: ModelFile) -> str | None:
    """Without `DefaultModelFile.check`, which notes beside the file that it was right."""
    try:
        if isinstance(file, DefaultModelFile):
            verify(file.path, file.release)
        else:
            file.check()
    except ModelFileError as exc:
        return str(exc).rstrip(".")
    return None


def _and_whole(file: ModelFile) -> str:
    path: Path = file.path
    return ", its checksum is right" if isinstance(file, DefaultModelFile) else f" ({path.suffix[1:]} file)"

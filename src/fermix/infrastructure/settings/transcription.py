"""`[fermix_core.transcription]`: who turns voice notes into text."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from fermix.application.ports.transcription import TranscriberPlugin
from fermix.infrastructure.settings.entry_points import Offers
from fermix.infrastructure.settings.section import Credential, FilePath, Section, Text, WebAddress

TRANSCRIBERS = Offers(group="fermix.transcribers", kind=TranscriberPlugin)
"""Transcribers that other packages bring; the name of one is its `backend`."""


def _or_installed(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """One of ours, or one that an installed package brings; packages are asked only about other names."""
    try:
        return check(value)
    except ValidationError:
        if isinstance(value, str) and value in TRANSCRIBERS.names():
            return value
        raise


Backend: TypeAlias = Annotated[Literal["openai", "xai", "deepgram", "local"], WrapValidator(_or_installed)]


class TranscriptionSettings(Section):
    """Speech to text."""

    backend: Backend | None = None
    """Who transcribes; unset: openai if its key is there, else `local` if it is installed, else nobody."""
    model: Text | None = None
    """The model of openai or deepgram; unset: the backend's usual one."""
    max_file_mb: Annotated[int, Field(ge=1, le=2000)] = 20
    """Larger recordings are refused."""
    openai_api_key: Credential | None = None
    """Instead of the provider's key."""
    xai_api_key: Credential | None = None
    """Instead of the provider's key."""
    deepgram_api_key: Credential | None = None
    """Needed for deepgram."""
    base_url: WebAddress | None = None
    """A compatible server instead of the backend's own; the provider's key is not sent there."""
    model_path: FilePath | None = None
    """Folder of a Whisper model (CTranslate2) for `local`, instead of the built-in English one."""

"""`[fermix_core.transcription]`: who turns voice notes into text."""

from typing import Annotated, Literal

from pydantic import Field

from fermix.infrastructure.settings.section import Credential, FilePath, Section, Text, WebAddress


class TranscriptionSettings(Section):
    """Speech to text."""

    backend: Literal["openai", "xai", "deepgram", "local"] | None = None
    """Who transcribes; unset: openai if its key is there, else `local` if it is installed, else nobody."""
    model: Text | None = None
    """The backend's model; unset: the backend's usual one."""
    max_file_mb: Annotated[int, Field(ge=1, le=2000)] = 20
    """Larger recordings are refused."""
    openai_api_key: Credential | None = None
    """Instead of the provider's key."""
    xai_api_key: Credential | None = None
    """Instead of the provider's key."""
    deepgram_api_key: Credential | None = None
    """Needed for deepgram."""
    base_url: WebAddress | None = None
    """A compatible server instead of the backend's own."""
    model_path: FilePath | None = None
    """Model folder of the `local` backend."""

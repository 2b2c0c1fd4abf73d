"""OpenAI's transcription endpoint, and every server that speaks it.

Asked plainly: its client library would cost half a second and 30 MB to load for one request, and hold each file in
memory whole. See https://platform.openai.com/docs/api-reference/audio/createTranscription.
"""

from collections.abc import Mapping
from typing import Any

from fermix.application.ports.transcription import Audio, TranscriberProfile
from fermix.infrastructure.transcription.wire import (
    Question,
    Said,
    Service,
    bearer,
    form_around,
    object_in,
    text_in,
)

BASE_URL = "https://api.openai.com/v1"
MODEL = "gpt-4o-mini-transcribe"


class OpenAIWire:
    """`POST /audio/transcriptions`: a form with the model and the file."""

    def __init__(self, service: Service, *, model: str) -> None:
        self._service = service
        self._model = model

    @property
    def profile(self) -> TranscriberProfile:
        """See `Wire.profile`."""
        return TranscriberProfile(backend="openai", model=self._model)

    def question(self, audio: Audio) -> Question:
        """See `Wire.question`."""
        return form_around(
            audio,
            {"model": self._model, "response_format": "json"},
            url=f"{self._service.base_url}/audio/transcriptions",
            headers=bearer(self._service),
        )

    def said(self, answer: Mapping[str, Any]) -> Said | None:
        """See `Wire.said`; the language comes from servers that tell it of their own accord."""
        text = text_in(answer.get("text"))
        return None if text is None else Said(text=text, language=text_in(answer.get("language")))

    def blames_the_request(self, answer: Mapping[str, Any]) -> bool:
        """See `Wire.blames_the_request`."""
        error = object_in(answer.get("error"))
        param, code = text_in(error.get("param")), text_in(error.get("code"))
        return param not in {None, "", "file"} or code == "model_not_found"

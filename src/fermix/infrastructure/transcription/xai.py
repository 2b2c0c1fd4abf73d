"""xAI's speech to text: one model, which is not named. See https://docs.x.ai/developers/model-capabilities/audio."""

from collections.abc import Mapping
from typing import Any

from fermix.application.ports.transcription import Audio, TranscriberProfile
from fermix.infrastructure.transcription.wire import Question, Said, Service, bearer, form_around, text_in

BASE_URL = "https://api.x.ai/v1"


class XaiWire:
    """`POST /stt`: a form whose last part is the file. Takes API keys, and no login by subscription."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def profile(self) -> TranscriberProfile:
        """See `Wire.profile`."""
        return TranscriberProfile(backend="xai")

    def question(self, audio: Audio) -> Question:
        """See `Wire.question`. Without a language named, the service finds it out."""
        return form_around(audio, {}, url=f"{self._service.base_url}/stt", headers=bearer(self._service))

    def said(self, answer: Mapping[str, Any]) -> Said | None:
        """See `Wire.said`."""
        text = text_in(answer.get("text"))
        return None if text is None else Said(text=text, language=text_in(answer.get("language")) or None)

    def blames_the_request(self, answer: Mapping[str, Any]) -> bool:
        """See `Wire.blames_the_request`: nothing but the recording is in a request."""
        del answer
        return False

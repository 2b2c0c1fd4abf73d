"""Deepgram's endpoint for recordings. See https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fermix.application.ports.transcription import Audio, TranscriberProfile
from fermix.infrastructure.transcription.wire import (
    Question,
    Said,
    Service,
    first_in,
    mime_type_of,
    object_in,
    text_in,
)

BASE_URL = "https://api.deepgram.com/v1"
MODEL = "nova-3"


class DeepgramWire:
    """`POST /listen`: the recording is the body, all else stands in the address; a key, and no bearer token."""

    def __init__(self, service: Service, *, model: str) -> None:
        self._service = service
        self._model = model

    @property
    def profile(self) -> TranscriberProfile:
        """See `Wire.profile`."""
        return TranscriberProfile(backend="deepgram", model=self._model)

    def question(self, audio: Audio) -> Question:
        """See `Wire.question`."""
        asked = urlencode({"model": self._model, "detect_language": "true", "smart_format": "true"})
        key = self._service.api_key
        return Question(
            url=f"{self._service.base_url}/listen?{asked}",
            headers={
                "Content-Type": mime_type_of(audio),
                **({} if key is None else {"Authorization": f"Token {key}"}),
            },
        )

    def said(self, answer: Mapping[str, Any]) -> Said | None:
        """See `Wire.said`; one channel is asked for, and the best of its readings counts."""
        channel = object_in(first_in(object_in(answer.get("results")).get("channels")))
        text = text_in(object_in(first_in(channel.get("alternatives"))).get("transcript"))
        return None if text is None else Said(text=text, language=text_in(channel.get("detected_language")))

    def blames_the_request(self, answer: Mapping[str, Any]) -> bool:
        """See `Wire.blames_the_request`."""
        return text_in(answer.get("err_code")) in {"INVALID_QUERY_PARAMETER", "PROJECT_NOT_FOUND"}

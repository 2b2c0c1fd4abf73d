"""The three services as they document themselves: what a request must be, and what their answers look like.

- OpenAI: https://platform.openai.com/docs/api-reference/audio/createTranscription
- xAI: https://docs.x.ai/developers/rest-api-reference/inference/voice
- Deepgram: https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fermix.testing.servers.loopback import Request
from fermix.testing.servers.multipart import BadForm, FormPart, parts_of

_FILE_NAME = re.compile(r"[^/\\\"]+\.(flac|m4a|mp3|mp4|mpeg|mpga|oga|ogg|wav|webm)")
_AUDIO = re.compile(r"(audio|video)/[A-Za-z0-9.+-]+|application/octet-stream")
_MOST_BYTES = 25 * 1024 * 1024


class Refused(Exception):
    """The request is not what the service documents."""

    def __init__(self, why: str, *, status: int = 400, code: str = "invalid_request") -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One of them.

    Attributes:
        scheme: what stands before the key.
        recording: takes the recording out of a right request; gets the name of the model there is.
        answer: an answer with a transcript and a language.
        refusal: an answer that refuses, with a code and words.
    """

    scheme: str
    recording: Callable[[Request, str], bytes]
    answer: Callable[[str, str | None], Mapping[str, Any]]
    refusal: Callable[[str, str], Mapping[str, Any]]


def _form(request: Request) -> Sequence[FormPart]:
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data;"):
        raise Refused(f"the content type is {kind!r}", status=415)
    try:
        return parts_of(kind, request.body)
    except BadForm as exc:
        raise Refused(str(exc)) from exc


def _file(part: FormPart) -> bytes:
    if part.file_name is None or not _FILE_NAME.fullmatch(part.file_name):
        raise Refused(f"unsupported file name {part.file_name!r}")
    if not _AUDIO.fullmatch(part.mime_type):
        raise Refused(f"unsupported type {part.mime_type!r}")
    if len(part.content) > _MOST_BYTES:
        raise Refused("the file is too large", status=413)
    return part.content


def _by_openai(request: Request, model: str) -> bytes:
    parts = {part.name: part for part in _form(request)}
    if parts.keys() != {"file", "model", "response_format"} or len(parts) != len(_form(request)):
        raise Refused(f"the fields are {sorted(parts)}")
    if parts["response_format"].text != "json":
        raise Refused("response_format is not compatible with the model", code="unsupported_value")
    if parts["model"].text != model:
        raise Refused("the model does not exist", status=404, code="model_not_found")
    return _file(parts["file"])


def _by_xai(request: Request, model: str) -> bytes:
    del model
    parts = _form(request)
    if [part.name for part in parts] != ["file"]:
        raise Refused(f"the fields are {[part.name for part in parts]}")
    return _file(parts[-1])


def _by_deepgram(request: Request, model: str) -> bytes:
    asked = parse_qsl(request.query, strict_parsing=True)
    if sorted(name for name, _ in asked) != ["detect_language", "model", "smart_format"]:
        raise Refused(f"the parameters are {asked}", code="INVALID_QUERY_PARAMETER")
    given = dict(asked)
    if given["model"] != model:
        raise Refused("no such model", code="INVALID_QUERY_PARAMETER")
    if (given["detect_language"], given["smart_format"]) != ("true", "true"):
        raise Refused("parameters are true or false", code="INVALID_QUERY_PARAMETER")
    if not _AUDIO.fullmatch(request.headers.get("content-type", "")):
        raise Refused("the content type is no audio", status=415)
    return request.body


def _openai_answer(text: str, language: str | None) -> Mapping[str, Any]:
    usage = {"type": "tokens", "input_tokens": 14, "output_tokens": 5, "total_tokens": 19}
    return {"text": text, "usage": usage} | ({} if language is None else {"language": language})


def _xai_answer(text: str, language: str | None) -> Mapping[str, Any]:
    return {"text": text, "language": language or "", "duration": 1.5, "words": []}


def _deepgram_answer(text: str, language: str | None) -> Mapping[str, Any]:
    reading = {"transcript": text, "confidence": 0.98, "words": []}
    channel = {"alternatives": [reading], "detected_language": language, "language_confidence": 0.97}
    return {"metadata": {"request_id": "r-1", "channels": 1}, "results": {"channels": [channel]}}


SERVICES: Mapping[str, Service] = {
    "/v1/audio/transcriptions": Service(
        scheme="Bearer",
        recording=_by_openai,
        answer=_openai_answer,
        refusal=lambda code, words: {"error": {"message": words, "code": code, "param": None}},
    ),
    "/v1/stt": Service(
        scheme="Bearer",
        recording=_by_xai,
        answer=_xai_answer,
        refusal=lambda code, words: {"code": code, "error": words},
    ),
    "/v1/listen": Service(
        scheme="Token",
        recording=_by_deepgram,
        answer=_deepgram_answer,
        refusal=lambda code, words: {"err_code": code, "err_msg": words, "request_id": "r-1"},
    ),
}
"""By the path they are asked at."""

NAMES: Mapping[str, str] = {
    "/v1/audio/transcriptions": "openai",
    "/v1/stt": "xai",
    "/v1/listen": "deepgram",
}

"""What differs from one transcription service to the next: the request it wants, and what its answer says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fermix.application.ports.transcription import Audio, TranscriberProfile

_MIME_TYPE = re.compile(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Where a service is, and what it knows us by.

    Attributes:
        base_url: up to and including the version, without a slash at its end.
        api_key: `None` where none is sent.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to be made, with the recording's bytes between `before` and `after`.

    Attributes:
        url: the whole address.
        headers: all but the length; they may hold the key.
        before: what of the body stands before the recording.
        after: what follows it.
    """

    url: str
    headers: Mapping[str, str] = field(repr=False)
    before: bytes = b""
    after: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an answer says was said: perhaps blank."""

    text: str
    language: str | None = None


class Wire(Protocol):
    """One service's protocol. Pure: it asks nobody."""

    @property
    def profile(self) -> TranscriberProfile:
        """What the transcriber over it is."""
        ...

    def question(self, audio: Audio) -> Question:
        """The request for one recording."""
        ...

    def said(self, answer: Mapping[str, Any]) -> Said | None:
        """What the JSON object of a good answer says; `None` when it holds no transcript."""
        ...

    def blames_the_request(self, answer: Mapping[str, Any]) -> bool:
        """Whether a refusal, as JSON object, is about how we asked (the model) and not about the recording."""
        ...


def bearer(service: Service) -> dict[str, str]:
    """The header that carries the key, where there is one."""
    return {} if service.api_key is None else {"Authorization": f"Bearer {service.api_key}"}


def mime_type_of(audio: Audio) -> str:
    """The recording's type as a header takes it."""
    mime_type = audio.mime_type or ""
    return mime_type if _MIME_TYPE.fullmatch(mime_type) else "application/octet-stream"


def form_around(audio: Audio, fields: Mapping[str, str], *, url: str, headers: Mapping[str, str]) -> Question:
    """A form of several parts (RFC 7578) whose last part, `file`, is the recording.

    The boundary is made of the recording's digest, which no recording can contain.
    """
    boundary = f"fermix-{audio.content.digest}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    name = _UNSAFE.sub("_", audio.file_name) or "recording"
    parts.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {mime_type_of(audio)}\r\n\r\n"
    )
    return Question(
        url=url,
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}", **headers},
        before="".join(parts).encode(),
        after=f"\r\n--{boundary}--\r\n".encode(),
    )


def text_in(value: Any) -> str | None:
    """A text of an answer, with what no encoding can carry replaced; `None` for anything else."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def object_in(value: Any) -> Mapping[str, Any]:
    """An object of an answer; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def first_in(value: Any) -> Any:
    """The first of a list of an answer; `None` for anything else."""
    return value[0] if isinstance(value, list) and value else None

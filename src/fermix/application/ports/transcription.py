"""Speech to text: one audio file in, what was said out."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from fermix.application.ports.blobs import ReadsBlobs
from fermix.domain.blob import BlobRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """A stored recording.

    Attributes:
        content: its bytes, in the store that the transcriber was built with.
        mime_type: as sniffed from the content, or `None` when that said nothing; never as declared from outside.
        file_name: a name of our own with the extension that fits the content (`voice.ogg`).
    """

    content: BlobRef
    mime_type: str | None
    file_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was said.

    Attributes:
        text: never blank; without surrounding white space.
        language: the detected language (`en`), where the backend tells.
    """

    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriberProfile:
    """What a transcriber is, as data.

    Attributes:
        backend: its configured name (`openai`, `local`).
        model: what it is asked for; `None` for a backend without a choice of models.
        languages: those it understands; `None` for any.
    """

    backend: str
    model: str | None = None
    languages: frozenset[str] | None = None


class Transcriber(Protocol):
    """Turns recordings into text. Raises `TranscriptionError` or `BlobError` and nothing else."""

    @property
    def profile(self) -> TranscriberProfile:
        """What it is."""
        ...

    async def transcribe(self, audio: Audio) -> Transcript:
        """Transcribe one recording; never retries on its own, and ends within a limit of its own.

        Raises:
            TranscriptionRefused: the backend does not take our credential.
            EmptyTranscript: nothing was said, or (`NotUnderstood`) nothing that could be made out.
            UnreadableAudio: it is no audio that the backend can read, or (`RecordingTooLong`) too much of it.
            TranscriptionUnavailable: no transcript came now; trying again later may help.
            BlobError: the recording cannot be read.
        """
        ...


class TranscriptionError(Exception):
    """Base of all errors of transcribers; the text is for operators: no secret, nothing that was said."""


class TranscriptionRefused(TranscriptionError):
    """The backend does not take our credential, or the account may not use it."""


class EmptyTranscript(TranscriptionError):
    """The recording holds no words."""


class NotUnderstood(EmptyTranscript):
    """Something is said, and the backend is sure of no word of it: another language perhaps, or much noise."""


class UnreadableAudio(TranscriptionError):
    """The backend cannot read the recording."""


class RecordingTooLong(UnreadableAudio):
    """The recording goes on for longer than the backend listens."""

    def __init__(self, *, limit: timedelta) -> None:
        super().__init__(f"the recording is longer than {limit}")
        self.limit = limit


class TranscriptionUnavailable(TranscriptionError):
    """No transcript came: unreachable, timed out, busy, or an answer that makes no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriberPlace:
    """What a transcriber of another package is made of; its credential is its own affair.

    Attributes:
        blobs: the store that holds the recordings.
        model: as the settings say; `None` for its usual one.
        base_url: another server than its own, as the settings say.
        model_path: the absolute path of a model, as the settings say.
    """

    blobs: ReadsBlobs
    model: str | None = None
    base_url: str | None = None
    model_path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriberPlugin:
    """What an entry point of the group `fermix.transcribers` names; the entry point's name is the backend's.

    Attributes:
        open: opens a transcriber for as long as it is used; starts and asks nothing before its first recording.
    """

    open: Callable[[TranscriberPlace], AbstractAsyncContextManager[Transcriber]]

"""What becomes of the files that people send: which are prepared, what they are by content, how preparing ends."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from fermix.domain.blob import BlobRef
from fermix.domain.history import UserEntry
from fermix.domain.message import AttachmentKind, InboundMessage
from fermix.domain.picture import Picture
from fermix.domain.sniffing import mime_type_of

MAX_ATTEMPTS = 3
"""So often is one file tried: a file that kills whoever looks at it must not do so for ever."""

HEAD_BYTES = 512
"""How much of a file is looked at to see what it is."""

PICTURE_TYPES = frozenset(
    {
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/heic",
        "image/heif",
        "image/jpeg",
        "image/png",
        "image/tiff",
        "image/webp",
    }
)
"""What is taken for a picture, whatever it was sent as."""

_EXTENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "application/gzip": "gz",
        "application/ogg": "ogg",
        "application/pdf": "pdf",
        "application/zip": "zip",
        "audio/aac": "aac",
        "audio/amr": "amr",
        "audio/flac": "flac",
        "audio/mp4": "m4a",
        "audio/mpeg": "mp3",
        "audio/ogg": "ogg",
        "audio/wav": "wav",
        "video/mp4": "mp4",
        "video/quicktime": "mov",
        "video/webm": "webm",
        "video/x-msvideo": "avi",
    }
)


class MediaProblem(StrEnum):
    """Why a file became nothing, sorted by what its sender can do about it."""

    NOT_CONFIGURED = "not_configured"
    """Nobody here turns speech into text."""
    AUDIO_TOO_LARGE = "audio_too_large"
    """More than the owner lets be transcribed."""
    AUDIO_TOO_LONG = "audio_too_long"
    """It goes on for longer than the transcriber listens."""
    FILE_TOO_LARGE = "file_too_large"
    """More than can be fetched from its platform, or is looked at."""
    NOT_FETCHED = "not_fetched"
    """It could not be downloaded."""
    NOT_UNDERSTOOD = "not_understood"
    """Something is said, and no word of it could be made out."""
    NOT_TRANSCRIBED = "not_transcribed"
    NOT_A_PICTURE = "not_a_picture"
    """It could not be read as a picture, or not be made fit for a model."""
    TOO_MANY_PIXELS = "too_many_pixels"
    """Its header announces a picture that is not decoded."""
    FILE_OF_A_GUEST = "file_of_a_guest"
    """Neither picture nor recording, and its sender is not the owner."""
    EMPTY = "empty"
    """A file without a byte."""
    STOPPED = "stopped"
    """Its turn ended before it was ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcribed:
    """A recording, as text.

    Attributes:
        text: what was said; never blank.
        foreign_language: the language that was heard (`de`), when it is none that the transcriber understands.
    """

    text: str
    foreign_language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureReady:
    """A picture that models can be shown."""

    picture: Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKept:
    """Any other file, as it came; its type as its content says."""

    content: BlobRef
    mime_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFailed:
    """Nothing became of it.

    Attributes:
        kind: what it was taken for.
        size_bytes: how large it is, where that is what is wrong and is known.
        limit_bytes: how large it might have been.
    """

    problem: MediaProblem
    kind: AttachmentKind
    size_bytes: int | None = None
    limit_bytes: int | None = None

    @property
    def is_silent(self) -> bool:
        """Whether its sender hears nothing: of a picture that never arrived there is nothing to put right."""
        return self.kind is AttachmentKind.IMAGE and self.problem is MediaProblem.NOT_FETCHED


MediaResult: TypeAlias = Transcribed | PictureReady | FileKept | MediaFailed


def positions_to_prepare(message: InboundMessage) -> Iterator[int]:
    """Which of a message's attachments are fetched: pictures, files, and of recordings the first."""
    heard = False
    for position, attachment in enumerate(message.attachments):
        match attachment.kind:
            case AttachmentKind.OTHER:
                continue
            case AttachmentKind.AUDIO if heard:
                continue
            case AttachmentKind.AUDIO:
                heard = True
        yield position


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """What a file is by its content, and the type that says so."""

    kind: AttachmentKind
    mime_type: str | None


def recognise(declared: AttachmentKind, head: bytes) -> Recognised | MediaProblem:
    """What a file that was sent as `declared` is, by its first bytes.

    A picture is one whatever it was sent as, and so is sound. What was sent as a recording may also be a video,
    whose sound counts, or something that no signature tells; but text (a login page) is no recording, and
    nothing but a picture is one.

    Args:
        declared: as its channel says.
        head: its first `HEAD_BYTES`; not empty.
    """
    found = mime_type_of(head)
    kind = _kind(declared, found, head)
    if kind is declared or kind is AttachmentKind.IMAGE or declared is AttachmentKind.FILE:
        return Recognised(kind=kind, mime_type=found)
    return MediaProblem.NOT_A_PICTURE if declared is AttachmentKind.IMAGE else MediaProblem.NOT_TRANSCRIBED


def _kind(declared: AttachmentKind, found: str | None, head: bytes) -> AttachmentKind:
    group = (found or "").partition("/")[0]
    if found in PICTURE_TYPES:
        return AttachmentKind.IMAGE
    if group == "audio":
        return AttachmentKind.AUDIO
    may_sound = group == "video" or found == "application/ogg" or (found is None and not is_text(head))
    return AttachmentKind.AUDIO if declared is AttachmentKind.AUDIO and may_sound else AttachmentKind.FILE


def is_text(head: bytes) -> bool:
    """Whether these first bytes of a file read like text in UTF-8, a cut last character aside."""
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as exc:
        return len(head) - exc.start < 4 and exc.reason == "unexpected end of data"
    return True


def recording_name(mime_type: str | None) -> str:
    """A file name of our own for a recording: services go by it, and refuse names that people's programs give."""
    return f"recording.{extension_of(mime_type) or 'bin'}"


def extension_of(mime_type: str | None) -> str | None:
    """The ending, without its dot, of a file of this type."""
    return None if mime_type is None else _EXTENSIONS.get(mime_type)


TRANSCRIPT_MARK = "[voice note transcript]"


def transcript_in(results: Iterable[MediaResult]) -> Transcribed | None:
    """The transcript that counts as a message's words: that of its first recording."""
    return next((result for result in results if isinstance(result, Transcribed)), None)


def words_of(text: str, results: Iterable[MediaResult]) -> str:
    """What a message says: what was written, then what was said."""
    transcript = transcript_in(results)
    if transcript is None:
        return text
    return f"{text}\n\n{TRANSCRIPT_MARK}\n{transcript.text}" if text.strip() else transcript.text


def pictures_in(results: Iterable[MediaResult]) -> tuple[Picture, ...]:
    """The pictures that came with a message, in order."""
    return tuple(result.picture for result in results if isinstance(result, PictureReady))


def unanswered(text: str, results: Sequence[MediaResult]) -> UserEntry | None:
    """What the history keeps of a message that got no answer: words and pictures; `None` when it has neither."""
    entry = UserEntry(text=words_of(text, results), pictures=pictures_in(results))
    return entry if entry.text.strip() or entry.pictures else None

"""What people and the model read about the files that people send."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from fermix.domain.caps import MIB
from fermix.domain.fence import inline
from fermix.domain.incoming_media import MediaFailed, MediaProblem
from fermix.domain.message import Attachment, AttachmentKind
from fermix.domain.picture import MAX_PIXELS

NOT_CONFIGURED = (
    "I cannot listen to voice notes: no transcription is set up here. Run fermix setup on my machine, or choose a "
    "`backend` under [fermix_core.transcription] in the configuration file, then send it again."
)
NOT_TRANSCRIBED = "The transcription failed, please try again."
NOT_UNDERSTOOD = (
    "I could not make out what was said in your recording. Perhaps its language is none that is understood here; "
    "please try again, or write it to me."
)
AUDIO_TOO_LONG = "Your recording goes on for longer than I can listen. Please send a shorter clip."
AUDIO_NOT_FETCHED = "I could not download your recording to transcribe it. Please try again."
FILE_NOT_FETCHED = "I could not download your file. Please send it again."
PICTURE_UNREADABLE = "I could not read your picture. Please send it as JPEG or PNG."
TOO_MANY_PIXELS = (
    f"Your picture has more than the {MAX_PIXELS // 1_000_000} million pixels I can take. Please send a smaller "
    "one."
)
FILE_OF_A_GUEST = "I take pictures and voice notes from you, but no other files."

_SENTENCES: Mapping[MediaProblem, str] = MappingProxyType(
    {
        MediaProblem.NOT_CONFIGURED: NOT_CONFIGURED,
        MediaProblem.NOT_TRANSCRIBED: NOT_TRANSCRIBED,
        MediaProblem.AUDIO_TOO_LONG: AUDIO_TOO_LONG,
        MediaProblem.NOT_UNDERSTOOD: NOT_UNDERSTOOD,
        MediaProblem.NOT_A_PICTURE: PICTURE_UNREADABLE,
        MediaProblem.TOO_MANY_PIXELS: TOO_MANY_PIXELS,
        MediaProblem.FILE_OF_A_GUEST: FILE_OF_A_GUEST,
    }
)
_TOO_LARGE = frozenset({MediaProblem.AUDIO_TOO_LARGE, MediaProblem.FILE_TOO_LARGE})
_SENT: Mapping[AttachmentKind, tuple[str, str]] = MappingProxyType(
    {
        AttachmentKind.AUDIO: ("recording", "a shorter clip"),
        AttachmentKind.IMAGE: ("picture", "a smaller one"),
    }
)
"""What a file over its limit is called, and what to send in its place."""

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "Arabic",
        "cs": "Czech",
        "da": "Danish",
        "de": "German",
        "en": "English",
        "es": "Spanish",
        "fi": "Finnish",
        "fr": "French",
        "hi": "Hindi",
        "hu": "Hungarian",
        "it": "Italian",
        "ja": "Japanese",
        "ko": "Korean",
        "nl": "Dutch",
        "no": "Norwegian",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "sv": "Swedish",
        "tr": "Turkish",
        "uk": "Ukrainian",
        "zh": "Chinese",
    }
)
"""Names of the languages that are heard most; any other is named by its code."""

MAX_PATH = 300


def megabytes(size_bytes: int) -> str:
    """A size in MB with at most one decimal, rounded up: what is over a limit never reads like the limit."""
    tenths = math.ceil(size_bytes * 10 / MIB)
    return str(tenths // 10) if tenths % 10 == 0 else f"{tenths / 10:.1f}"


def too_large(failed: MediaFailed) -> str:
    """The reply to a file over its limit: how large it is where that is known, the limit, and what to do."""
    what, advice = _SENT.get(failed.kind, ("file", "a smaller one"))
    limit, size = "what I can take", ""
    if failed.limit_bytes is not None:
        limit = f"the {megabytes(failed.limit_bytes)} MB I can take"
    if failed.size_bytes is not None:
        size = f" ({megabytes(failed.size_bytes)} MB)"
    return f"Your {what}{size} is larger than {limit}. Please send {advice}."


def refused(failed: MediaFailed) -> str:
    """What its sender reads of a file that nothing became of."""
    if failed.problem in _TOO_LARGE:
        return too_large(failed)
    not_fetched = AUDIO_NOT_FETCHED if failed.kind is AttachmentKind.AUDIO else FILE_NOT_FETCHED
    return _SENTENCES.get(failed.problem, not_fetched)


def heard_in(language: str) -> str:
    """What an answer ends with when the recording was in a language that is not understood."""
    name = LANGUAGES.get(language.lower(), language)
    return f"(Your recording sounded like {name}, which is not understood here: I may have misheard.)"


def unopened(attachment: Attachment) -> str:
    """The line that stands for an attachment which the model cannot see."""
    return f"[attached: a {attachment.kind.value}{_named(attachment)}, which you cannot open]"


def saved(attachment: Attachment, *, path: str, mime_type: str | None, size_bytes: int) -> str:
    """The line that names a file in the workspace inbox to the model."""
    kind = mime_type or "of unknown type"
    return (
        f"[attached: a file{_named(attachment)} ({kind}, {size_bytes} bytes), saved in your workspace as "
        f"{inline(path, limit=MAX_PATH)}]"
    )


def _named(attachment: Attachment) -> str:
    return f" named {inline(attachment.name)}" if attachment.name else ""

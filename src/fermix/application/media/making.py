"""Making of a fetched file what an agent can use: a transcript, a picture that fits, or just the file."""

from dataclasses import dataclass, replace

import anyio

from fermix.application.media.attempt import GivenUp, Made, Ready, TryAgain
from fermix.application.media.limits import MediaLimits
from fermix.application.ports.blobs import BlobError, BlobMissing, Blobs
from fermix.application.ports.media_queue import WaitingMedia
from fermix.application.ports.pictures import (
    PictureError,
    Pictures,
    PicturesUnavailable,
    PictureTooLarge,
    TooManyPixels,
)
from fermix.application.ports.transcription import (
    Audio,
    NotUnderstood,
    RecordingTooLong,
    Transcriber,
    Transcript,
    TranscriptionError,
    TranscriptionUnavailable,
)
from fermix.domain.blob import BlobRef
from fermix.domain.incoming_media import (
    HEAD_BYTES,
    FileKept,
    MediaFailed,
    MediaProblem,
    PictureReady,
    Recognised,
    Transcribed,
    recognise,
    recording_name,
)
from fermix.domain.message import AttachmentKind
from fermix.domain.trust import Trust

_EMPTY = {
    AttachmentKind.IMAGE: MediaProblem.NOT_A_PICTURE,
    AttachmentKind.AUDIO: MediaProblem.NOT_TRANSCRIBED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeMedia:
    """Works on stored files.

    Attributes:
        transcriber: `None` where nobody turns speech into text.
    """

    blobs: Blobs
    pictures: Pictures
    transcriber: Transcriber | None
    limits: MediaLimits

    def refused_unseen(self, media: WaitingMedia) -> MediaFailed | None:
        """Refuse what need not be fetched to know that nothing will become of it."""
        if media.attachment.kind is AttachmentKind.AUDIO and self.transcriber is None:
            return MediaFailed(problem=MediaProblem.NOT_CONFIGURED, kind=AttachmentKind.AUDIO)
        return None

    async def look(self, media: WaitingMedia, content: BlobRef) -> Recognised | Made:
        """Say by its content what a stored file is, or why nothing will become of it."""
        declared = media.attachment.kind
        if not content.size_bytes:
            problem = _EMPTY.get(declared, MediaProblem.EMPTY)
            return GivenUp(result=MediaFailed(problem=problem, kind=declared), cause="it is empty")
        try:
            head = await self._head(content)
        except BlobError as exc:
            return _judged(exc, MediaFailed(problem=MediaProblem.NOT_FETCHED, kind=declared))
        found = recognise(declared, head)
        if isinstance(found, MediaProblem):
            return GivenUp(
                result=MediaFailed(problem=found, kind=declared), cause="its content is something else"
            )
        if found.kind is AttachmentKind.AUDIO and self.transcriber is None:
            return Recognised(kind=AttachmentKind.FILE, mime_type=found.mime_type)
        return found

    async def __call__(self, media: WaitingMedia, content: BlobRef, found: Recognised) -> Made:
        """Make of a stored file what `look` has found it to be."""
        match found.kind:
            case AttachmentKind.AUDIO:
                return await self._transcript(content, found.mime_type)
            case AttachmentKind.IMAGE:
                return await self._picture(content)
            case _ if media.trust is not Trust.OPERATOR:
                refused = MediaFailed(problem=MediaProblem.FILE_OF_A_GUEST, kind=AttachmentKind.FILE)
                return GivenUp(result=refused, cause="a guest's file is neither picture nor recording")
            case _:
                return Ready(result=FileKept(content=content, mime_type=found.mime_type))

    async def _head(self, content: BlobRef) -> bytes:
        head = b""
        async with self.blobs.open(content) as pieces:
            async for piece in pieces:
                head += piece[:HEAD_BYTES]
                if len(head) >= HEAD_BYTES:
                    break
        return head[:HEAD_BYTES]

    async def _transcript(self, content: BlobRef, mime_type: str | None) -> Made:
        if content.size_bytes > self.limits.audio_bytes:
            too_large = MediaFailed(
                problem=MediaProblem.AUDIO_TOO_LARGE,
                kind=AttachmentKind.AUDIO,
                size_bytes=content.size_bytes,
                limit_bytes=self.limits.audio_bytes,
            )
            return GivenUp(result=too_large, cause="the recording is too large")
        if self.transcriber is None:
            unheard = MediaFailed(problem=MediaProblem.NOT_CONFIGURED, kind=AttachmentKind.AUDIO)
            return GivenUp(result=unheard, cause="nobody transcribes")
        audio = Audio(content=content, mime_type=mime_type, file_name=recording_name(mime_type))
        try:
            with anyio.fail_after(self.limits.work_seconds):
                return Ready(result=_heard(await self.transcriber.transcribe(audio), self.transcriber))
        except (TranscriptionError, BlobError, TimeoutError) as exc:
            failed = MediaFailed(problem=MediaProblem.NOT_TRANSCRIBED, kind=AttachmentKind.AUDIO)
            return _judged(exc, failed)

    async def _picture(self, content: BlobRef) -> Made:
        try:
            with anyio.fail_after(self.limits.work_seconds):
                return Ready(result=PictureReady(picture=await self.pictures.prepare(content)))
        except PictureTooLarge as exc:
            too_large = MediaFailed(
                problem=MediaProblem.FILE_TOO_LARGE,
                kind=AttachmentKind.IMAGE,
                size_bytes=content.size_bytes,
                limit_bytes=exc.limit,
            )
            return GivenUp(result=too_large, cause=str(exc))
        except (PictureError, BlobError, TimeoutError) as exc:
            failed = MediaFailed(problem=MediaProblem.NOT_A_PICTURE, kind=AttachmentKind.IMAGE)
            return _judged(exc, failed)


def _heard(transcript: Transcript, transcriber: Transcriber) -> Transcribed:
    known, language = transcriber.profile.languages, transcript.language
    foreign = language if language is not None and known is not None and language not in known else None
    return Transcribed(text=transcript.text, foreign_language=foreign)


def _judged(exc: Exception, failed: MediaFailed) -> GivenUp | TryAgain:
    """What can be done about work that failed. What took so long once would take as long again."""
    cause = f"{type(exc).__name__}: {exc}"
    match exc:
        case RecordingTooLong():
            return GivenUp(result=replace(failed, problem=MediaProblem.AUDIO_TOO_LONG), cause=cause)
        case TooManyPixels():
            return GivenUp(result=replace(failed, problem=MediaProblem.TOO_MANY_PIXELS), cause=cause)
        case NotUnderstood():
            return GivenUp(result=replace(failed, problem=MediaProblem.NOT_UNDERSTOOD), cause=cause)
        case TranscriptionUnavailable() | PicturesUnavailable() | BlobError():
            return TryAgain(result=failed, cause=cause, forgets=isinstance(exc, BlobMissing))
        case _:
            return GivenUp(result=failed, cause=cause)
